"""Serves an ONNX file, text to text, over HTTP. It needs no TensorFlow.

    pip install onnxruntime prometheus-client starlette uvicorn
    python examples/serve/onnx_server.py

By default, the server serves `saved_models/pronounce_en/pronounce.onnx`. You
can pass any other file in the format `"onnx_text"` or `"onnx_align"` of
`translator.export`. With `"onnx_align"`, the server can also return the
attention.

    GET  /            a page to type into
    POST /translate   {"texts": ["attention"], "align": false}
    GET  /health      200 while it can answer
    GET  /metrics     for Prometheus

The server combines waiting requests into batches. On SIGTERM and Ctrl+C, it
answers all pending requests, and then exits. It uses plain HTTP: for TLS and
accounts, put a proxy before it.
"""

import argparse
import asyncio
import contextlib
import json
import math
import signal
import socket
import sys
from pathlib import Path
from typing import NamedTuple

import prometheus_client
import uvicorn
from onnx_batches import Batches
from onnx_batches import OnnxFile
from onnx_batches import as_json
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.responses import JSONResponse
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

ROOT = Path(__file__).parents[2]
FILE = ROOT / "saved_models/pronounce_en/pronounce.onnx"
PAGE = Path(__file__).with_name("onnx_page.html")
POLICY = (  # of the page: its own script and style, and this server
    "default-src 'none'; connect-src 'self'; img-src data:; "
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'"
)
REQUESTS = prometheus_client.Counter(
    "translate_requests", "Requests to /translate, by status", ["status"]
)
SECONDS = prometheus_client.Histogram(
    "translate_seconds", "From a request's head to its answer"
)
SIZES = prometheus_client.Histogram(
    "translate_batch_texts",
    "Texts in a batch",
    buckets=[2**i for i in range(9)],
)
WAITING = prometheus_client.Gauge("translate_waiting_texts", "Texts that wait")


class Limits(NamedTuple):
    """What a client may ask for.

    Attributes:
        bytes: The longest body.
        texts: The most texts in a request.
        letters: The longest text.
        waiting: The most texts that wait, of all requests.
        connections: The most connections.
        seconds: The longest time for each of these: to send the head of a
            request, to send its body, to wait for the answer, to take it.
    """

    bytes: int = 1_000_000
    texts: int = 64
    letters: int = 1000
    waiting: int = 2048
    connections: int = 1000
    seconds: float = 10.0


def read_question(body: bytes, limits: Limits) -> tuple[list[str], bool]:
    """Read the body of a request.

    Args:
        body: JSON.
        limits: Those of the server.

    Returns:
        Its texts, and whether tokens are asked for.

    Raises:
        HTTPException: If there is anything else.
    """

    def check(fits, need):
        if not fits:
            raise HTTPException(400, f"The server needs {need}.")

    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"The body is no JSON: {error}.") from error
    is_object = isinstance(content, dict) and "texts" in content
    is_object = is_object and content.keys() <= {"texts", "align"}
    check(is_object, 'an object, {"texts": ["...", "..."], "align": false}')
    texts, align = content["texts"], content.get("align", False)
    check(isinstance(align, bool), "`align` to be true or false")
    check(isinstance(texts, list), "`texts` to be a list of strings")
    check(len(texts) <= limits.texts, f"at most {limits.texts} `texts`")
    for i, text in enumerate(texts):
        check(isinstance(text, str), f"`texts` to be strings. {i} is none")
        short = len(text) <= limits.letters
        check(
            short, f"texts of at most {limits.letters} letters. {i} is longer"
        )
        is_unicode = not any("\ud800" <= letter <= "\udfff" for letter in text)
        check(is_unicode, f"Unicode. {i} has half a pair of surrogates")
    return texts, align


class Service:
    """Answers requests.

    Args:
        batches: Where texts are translated, by an `OnnxFile`.
        limits: What a client may ask for.
        file: What to call the file.
    """

    def __init__(self, batches: Batches, limits: Limits, file: str):
        self.batches = batches
        self.file = file
        self.limits = limits
        self.runs = None

    def app(self) -> Starlette:
        """Return the application, for a server of ASGI."""
        routes = [
            Route("/", self.page),
            Route("/translate", self.translate, methods=["POST"]),
            Route("/health", self.health),
            Route("/metrics", self.metrics),
        ]
        handlers = {
            HTTPException: self.refuse,
            ClientDisconnect: lambda *_: Response(status_code=400),
        }
        return Starlette(
            routes=routes, exception_handlers=handlers, lifespan=self.running
        )

    @contextlib.asynccontextmanager
    async def running(self, _):
        """Run batches, until no request is left."""
        self.runs = asyncio.create_task(self.batches.serve())
        yield
        self.runs.cancel()

    async def translate(self, request: Request) -> Response:
        status = 500
        try:
            with SECONDS.time():
                found = await self.answer(request)
            status = 200
        except HTTPException as error:
            status = error.status_code
            raise
        finally:
            REQUESTS.labels(status).inc()
        return Response(found, media_type="application/json")

    async def answer(self, request: Request) -> bytes:
        """Read the texts of a request, and write their translations."""
        limits = self.limits
        try:
            async with asyncio.timeout(limits.seconds):
                body = await self.read(request)
        except TimeoutError as error:
            raise HTTPException(408, "The body came too slowly.") from error
        texts, align = read_question(body, limits)
        if align and not self.batches.run.aligns:
            need = "a file of format onnx_align. This one has no tokens"
            raise HTTPException(400, f"`align` needs {need}.")
        if len(self.batches.waiting) + len(texts) > limits.waiting:
            raise HTTPException(
                503, "Too many texts wait.", {"Retry-After": "1"}
            )
        try:
            async with asyncio.timeout(limits.seconds):
                rows = await self.batches.ask(texts)
        except TimeoutError as error:
            raise HTTPException(503, "It took too long.") from error
        unknown = [*map(self.batches.run.unknown, texts)]
        return await asyncio.to_thread(as_json, rows, align, unknown)

    async def read(self, request: Request) -> bytes:
        """Read a body, or refuse one that is too long before it is there."""
        most = self.limits.bytes
        size = int(request.headers.get("content-length", 0))
        body = bytearray()
        if size <= most:
            async for part in request.stream():
                body += part
                if len(body) > most:
                    break
        if max(size, len(body)) > most:
            raise HTTPException(413, f"A body has at most {most} bytes.")
        return bytes(body)

    async def page(self, _):
        return FileResponse(PAGE, headers={"Content-Security-Policy": POLICY})

    async def health(self, _):
        alive = not self.runs.done()
        said = {
            "status": "ok" if alive else "failed",
            "file": self.file,
            "aligns": self.batches.run.aligns,
        }
        return JSONResponse(said, 200 if alive else 503)

    async def metrics(self, _):
        WAITING.set(len(self.batches.waiting))
        content = prometheus_client.generate_latest()
        return Response(
            content, media_type=prometheus_client.CONTENT_TYPE_LATEST
        )

    async def refuse(self, _, error):
        return JSONResponse(
            {"error": error.detail}, error.status_code, error.headers
        )


class TimedProtocol(H11Protocol):
    """Ends connections of clients that let the server wait.

    uvicorn itself waits for ever for the head of a request, for the rest of a
    body that was refused, and for an answer to be taken.
    """

    seconds = Limits().seconds

    def connection_made(self, transport):
        self.owed = self.unread = None
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # tells of every byte that waits
        self.watch()

    def data_received(self, data):
        super().data_received(data)
        self.watch()

    def on_response_complete(self):
        super().on_response_complete()
        self.end(self.owed)
        self.owed = None
        self.watch()

    def watch(self):
        """Begin to wait, or stop, for the head of a request."""
        is_ours = self.cycle is not None and not self.cycle.response_complete
        if is_ours:
            self.end(self.owed)
            self.owed = None
        elif self.owed is None:
            self.owed = self.loop.call_later(self.seconds, self.transport.abort)

    def pause_writing(self):
        super().pause_writing()
        self.unread = self.loop.call_later(self.seconds, self.transport.abort)

    def resume_writing(self):
        super().resume_writing()
        self.end(self.unread)

    def connection_lost(self, exc):
        super().connection_lost(exc)
        self.end(self.owed)
        self.end(self.unread)

    def end(self, timer):
        if timer is not None:
            timer.cancel()


def serve(service: Service, listener: socket.socket):
    """Answer requests until SIGTERM or SIGINT, and then what was asked.

    Args:
        service: What answers.
        listener: A socket that is bound to an address.
    """
    seconds = service.limits.seconds
    http = type("Protocol", (TimedProtocol,), {"seconds": seconds})
    config = uvicorn.Config(
        service.app(),
        http=http,
        ws="none",
        log_level="warning",
        limit_concurrency=service.limits.connections,
        timeout_graceful_shutdown=math.ceil(3 * seconds),
    )
    for name in (signal.SIGTERM, signal.SIGINT):  # uvicorn passes them on
        signal.signal(name, lambda *_: sys.exit(0))
    uvicorn.Server(config).run([listener])


def main(
    file: str | Path = FILE,
    host: str = "127.0.0.1",
    port: int = 8080,
    threads: int = 0,
    batch: int = 64,
    wait: float = 0.002,
    **limits: float,
):
    """Serve a file until a signal ends it.

    Args:
        file: The file.
        host: The address to listen at; `"0.0.0.0"` for all of the machine.
        port: The port; `0` for a free one.
        threads: Of onnxruntime; `0` for one each core.
        batch: The most texts in a batch.
        wait: Seconds that a text waits for others.
        **limits: Those of `Limits`.
    """
    run = OnnxFile(file, threads)
    batches = Batches(run, batch, wait, SIZES.observe)
    with socket.create_server((host, port), backlog=2048) as listener:
        port = listener.getsockname()[1]
        print(f"Serves {file} at http://{host}:{port}", flush=True)
        serve(Service(batches, Limits(**limits), Path(file).name), listener)


METAVARS = {str: "NAME", int: "N", float: "SECONDS"}
LIMITS = Limits()
OPTIONS = {  # with what they are without
    "host": ("127.0.0.1", "address to listen at; 0.0.0.0 for all"),
    "port": (8080, "port to listen at; 0 for a free one"),
    "threads": (0, "threads of onnxruntime; 0 for one each core"),
    "batch": (64, "most texts in a batch"),
    "wait": (0.002, "how long a text waits for others"),
    "bytes": (LIMITS.bytes, "longest body of a request"),
    "texts": (LIMITS.texts, "most texts in a request"),
    "letters": (LIMITS.letters, "most letters of a text"),
    "waiting": (LIMITS.waiting, "most texts that wait, of all requests"),
    "connections": (LIMITS.connections, "most connections"),
    "seconds": (LIMITS.seconds, "longest time to send, to wait or to read"),
}


def arguments(given: list[str] | None = None) -> dict:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    file = "what translator.export(path, 'onnx_text') wrote (pronounce.onnx)"
    parser.add_argument("file", nargs="?", default=FILE, help=file)
    for name, (value, about) in OPTIONS.items():
        parser.add_argument(
            f"--{name}",
            type=type(value),
            default=value,
            metavar=METAVARS[type(value)],
            help=f"{about} (%(default)s)",
        )
    return vars(parser.parse_args(given))


if __name__ == "__main__":
    main(**arguments())
