"""examples/serve/translate.c, where a compiler and onnxruntime's header are."""

import shutil
import subprocess
from pathlib import Path

import pytest

onnxruntime = pytest.importorskip("onnxruntime")
pronounce_word = pytest.importorskip("pronounce_word")

COMPILER = shutil.which("cc")
SOURCE = Path(pronounce_word.__file__).parent / "serve/translate.c"
HEADERS = "-I/usr/include/onnxruntime"  # and what CPATH names


def has_header():
    include = b"#include <onnxruntime_c_api.h>"
    command = [COMPILER, HEADERS, "-E", "-x", "c", "-"]
    done = subprocess.run(command, input=include, capture_output=True)
    return done.returncode == 0


pytestmark = pytest.mark.skipif(
    COMPILER is None or not has_header(),
    reason="needs a C compiler and libonnxruntime-dev",
)


@pytest.fixture(scope="module")
def translate(tmp_path_factory):
    """Compile it, with the library that is installed for Python."""
    folder = tmp_path_factory.mktemp("c")
    installed = Path(onnxruntime.__file__).parent / "capi"
    library = next(installed.glob("libonnxruntime.so.*"))
    (folder / "libonnxruntime.so.1").symlink_to(library)
    command = [COMPILER, "-O2", "-Wall", "-Wextra", "-Werror", HEADERS, SOURCE]
    command += [library, f"-Wl,-rpath,{folder}", "-o", folder / "translate"]
    subprocess.run(command, check=True)

    def run(*arguments, texts=b""):
        return subprocess.run(
            [folder / "translate", *arguments], input=texts, capture_output=True
        )

    return run


def test_it_says_what_python_says(translate):
    words = ["attention", "", "zurich", "don't", "a\0b", "猫", "x" * 50] * 30
    found = translate(pronounce_word.FILE, texts="\n".join(words).encode())
    assert found.returncode == 0
    assert found.stderr == b""
    assert found.stdout.decode().split("\n")[:-1] == pronounce_word.load()(
        words
    )


def test_lines_that_are_no_text_are_told(translate):
    good = b"cat\n" * 64
    found = translate(pronounce_word.FILE, texts=good + b"cat\n\xff\xfe\n")
    assert found.returncode == 1
    assert b"utf8" in found.stderr
    assert found.stdout == b"K AE1 T\n" * 64


def test_what_fails_is_told(translate, tmp_path):
    found = translate(tmp_path / "none.onnx")
    assert found.returncode == 1
    assert b"none.onnx" in found.stderr
    found = translate(pronounce_word.FILE, tmp_path / "none.so")
    assert found.returncode == 1
    assert b"none.so" in found.stderr
    assert translate().returncode == 2
