"""Asks onnx_server.py as many clients at once do, and says what it took.

    python examples/serve/onnx_load.py --clients 100 --seconds 60
    python examples/serve/onnx_load.py FILE "a text" "another" --clients 10

By default, the file is `saved_models/pronounce_en/pronounce.onnx`. The script
starts a server on a free port of this machine, and ends it afterward. Each
client sends one text after another over one connection. An answer is lost if it
does not arrive, or differs from the answer for the text alone. Therefore, use
texts for which the model is certain: for an uncertain text, the answer of an
int8 file may depend on the batch. First, the script names letters that the
model has not seen.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

SERVER = Path(__file__).with_name("onnx_server.py")
FILE = SERVER.parents[2] / "saved_models/pronounce_en/pronounce.onnx"
TEXTS = "attention lemon cat thoroughly queue pronounce a xylophone".split()
MEMORY = rb"(?m)^process_resident_memory_bytes (\S+)$"


class Report(NamedTuple):
    """What a run took.

    Attributes:
        answers: How many answers came.
        lost: How many did not, or were wrong.
        seconds: How long it ran.
        p50: Milliseconds of half of the answers, at most.
        p99: Milliseconds of 99 of 100.
        begin: MB of the server after a twelfth of the time.
        end: MB of the server at the end.
    """

    answers: int
    lost: int
    seconds: float
    p50: float
    p99: float
    begin: float
    end: float


@contextlib.contextmanager
def started(*options: str) -> Iterator[int]:
    """Run a server, and give its port."""
    command = [sys.executable, SERVER, "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            said = server.stdout.readline()
            port = re.search(r":(\d+)$", said)
            if port is None:
                raise SystemExit("The server did not start.")
            yield int(port[1])
        finally:
            server.terminate()


class Client:
    """One connection.

    Args:
        port: Of the server.
    """

    def __init__(self, port: int):
        self.port = port

    async def __aenter__(self):
        address = "127.0.0.1", self.port
        self.reader, self.writer = await asyncio.open_connection(*address)
        return self

    async def __aexit__(self, *_):
        self.writer.close()

    async def ask(self, path: str, body: bytes = b"") -> bytes:
        """Send a request, and read the body of an answer of status 200."""
        method = "POST" if body else "GET"
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
        head += f"Content-Length: {len(body)}\r\n\r\n"
        self.writer.write(head.encode() + body)
        head = await self.reader.readuntil(b"\r\n\r\n")
        size = int(re.search(rb"(?i)\r\ncontent-length: (\d+)", head)[1])
        answer = await self.reader.readexactly(size)
        if not head.startswith(b"HTTP/1.1 200 "):
            raise OSError(answer.decode())
        return answer

    async def translate(self, text: str) -> tuple[str, list[str]]:
        """Return a translation, and letters that the model has not seen."""
        body = json.dumps({"texts": [text]}).encode()
        answer = json.loads(await self.ask("/translate", body))
        return answer["translations"][0][0], *answer.get("unknown", [[]])

    async def megabytes(self) -> float:
        found = re.search(MEMORY, await self.ask("/metrics"))
        return float(found[1]) / 1e6


async def ask_again(port, first, wanted, end, times) -> int:
    """Ask until a time is over; return how many answers were lost."""
    lost = 0
    while time.monotonic() < end:
        try:
            async with Client(port) as client:
                for text in itertools.islice(
                    itertools.cycle(wanted), first, None
                ):
                    begun = time.monotonic()
                    lost += await client.translate(text) != wanted[text]
                    times.append(time.monotonic() - begun)
                    if begun > end:
                        return lost
        except (OSError, EOFError):
            lost += 1
    return lost


async def load(port: int, clients: int, seconds: float, texts: list[str]):
    """Ask a server by many clients; return a `Report`."""
    async with Client(port) as client:
        wanted = {text: await client.translate(text) for text in texts}
    for text, (_, unknown) in wanted.items():
        if unknown:
            print(f"{text}: the model has not seen {' '.join(unknown)}")
    times, begun = [], time.monotonic()
    end = begun + seconds
    asking = [
        asyncio.create_task(ask_again(port, i, wanted, end, times))
        for i in range(clients)
    ]
    await asyncio.sleep(seconds / 12)
    async with Client(port) as client:
        begin = await client.megabytes()
    lost = sum(await asyncio.gather(*asking))
    took = time.monotonic() - begun
    async with Client(port) as client:
        memory = begin, await client.megabytes()
    middle, high = 1e3 * np.percentile(times, [50, 99])
    return Report(len(times), lost, took, middle, high, *memory)


def main(
    file: str | Path = FILE,
    texts: list[str] | None = None,
    clients: int = 100,
    seconds: float = 60.0,
    options: str = "",
) -> Report:
    """Print what a server takes under load.

    Args:
        file: What is served.
        texts: What clients ask. Defaults to some words.
        clients: How many ask at once.
        seconds: How long.
        options: Those of the server, such as `"--threads 1"`.

    Returns:
        What is printed.
    """
    with started(str(file), *options.split()) as port:
        found = asyncio.run(load(port, clients, seconds, texts or TEXTS))
    speed = found.answers / found.seconds
    print(f"{found.answers} answers, {found.lost} lost, {speed:.0f} a second")
    print(f"p50 {found.p50:.0f} ms, p99 {found.p99:.0f} ms")
    print(f"memory {found.begin:.0f} MB, at the end {found.end:.0f} MB")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    file = "ONNX file to serve (default: pronounce.onnx)"
    parser.add_argument("file", nargs="?", default=FILE, help=file)
    texts = "texts that clients send (default: some English words)"
    parser.add_argument("texts", nargs="*", metavar="TEXT", help=texts)
    clients = "number of clients (default: 100)"
    parser.add_argument("--clients", type=int, default=100, help=clients)
    seconds = "duration in seconds (default: 60)"
    parser.add_argument("--seconds", type=float, default=60.0, help=seconds)
    options = "options of the server, such as '--threads 1'"
    parser.add_argument("--options", default="", help=options)
    main(**vars(parser.parse_args()))
