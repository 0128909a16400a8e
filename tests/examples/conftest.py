"""One server for all tests that ask one."""

import contextlib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "examples/serve/stand_in_server.py"


@contextlib.contextmanager
def stand_in(models):
    """Serve a folder of models on free ports; `said` is what it printed."""
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


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The stand-in, with a folder in which version 7 alone is a model."""
    warm_up = pytest.importorskip("serve.warm_up")
    models = tmp_path_factory.mktemp("models")
    shutil.copytree(ROOT / "saved_models/dates/1", models / "dates" / "7")
    (models / "dates" / "3").mkdir()
    (models / "dates" / "being_written").mkdir()
    warm_up.main(models / "dates" / "7")
    with stand_in(models) as running:
        yield running
