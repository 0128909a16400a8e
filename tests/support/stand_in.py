"""Runs `examples/serve/stand_in_server.py` while a block runs."""

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

PROGRAM = Path(__file__).parents[2] / "examples/serve/stand_in_server.py"


@contextlib.contextmanager
def stand_in(models: Path) -> Iterator[SimpleNamespace]:
    """Serve a folder of models on free ports of this machine.

    Args:
        models: The folder.

    Yields:
        The ports `grpc` and `rest`, and all that it `said` until then.
    """
    command = [sys.executable, PROGRAM, "--models", models]
    options = ["--port", "0", "--rest_api_port", "0"]
    log = models / "errors.txt"
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=errors
        ) as process,
    ):
        try:
            said = ""
            while "REST on port" not in said:
                line = process.stdout.readline().decode()
                assert line, log.read_text()
                said += line
            rpc, rest = map(int, re.findall(r"on port (\d+)", said))
            yield SimpleNamespace(grpc=rpc, rest=rest, said=said)
            process.terminate()
            assert process.wait(20) == 0, "it has to stop when it is told to"
        finally:
            process.kill()
