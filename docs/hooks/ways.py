"""The files on three ways through the package, from a run at the build.

A page has lines such as `{{ way fit }}`. They become the files that are on the
stack when a batch of `fit`, or a sentence of a translator, comes to the score
of a query, or when a line of text becomes a part of a batch.
"""

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "keras_attention"
WAY = re.compile(r"^\{\{ way (\w+) \}\}$", re.M)
ENVIRONMENT = {
    "KERAS_BACKEND": "tensorflow",
    "PYTHONPATH": str(ROOT),
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


def on_page_markdown(markdown, **_):
    """List the files of the ways that a page asks for."""
    return WAY.sub(lambda m: _as_list(ways()[m[1]]), markdown)


@cache
def ways() -> dict[str, list[str]]:
    """Walk all ways in a process of its own; return the files of each."""
    done = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def _as_list(files):
    lines = []
    for number, file in enumerate(files, 1):
        tree = ast.parse((PACKAGE / file).read_text(encoding="utf-8"))
        about = (ast.get_docstring(tree) or "").split("\n")[0]
        lines.append(f"{number}. `{file}`: {about}")
    return "\n".join(lines)


def watch(run: Callable, until: str | None = None) -> list[str]:
    """Return the files on the stack where a function is called.

    Args:
        run: What to run, in this thread and others.
        until: The name of the function; `None` for the longest way.
    """
    ways = [[]]

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and until in (None, code.co_name) and _file(code):
            ways.append(_files(frame))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return max(ways, key=len)


@cache
def _file(code):
    """Return the file of the package that code stands in, or `None`."""
    path = Path(code.co_filename)
    return str(path.relative_to(PACKAGE)) if PACKAGE in path.parents else None


def _files(frame):
    """Return the files of the package, the first that was called first."""
    files = []
    while frame:
        files.append(_file(frame.f_code))
        frame = frame.f_back
    return [*filter(None, dict.fromkeys(reversed(files)))]


def walk() -> dict[str, list[str]]:
    """Train, translate and read a few words, and watch."""
    import keras

    import keras_attention as ka

    sentences = ["a b", "b c a", "c"]
    tokenizer = ka.WordTokenizer.train(sentences, 10)
    cell = ka.AttentionDecoderCell(
        keras.layers.LSTMCell(8), ka.BahdanauAttention(4)
    )
    model = ka.Seq2Seq(
        source_vocabulary_size=tokenizer.vocabulary_size,
        target_vocabulary_size=tokenizer.vocabulary_size,
        embedding_dim=4,
        encoder=ka.RecurrentEncoder(4),
        bridge=ka.StateBridge(),
        decoder=ka.AttentionDecoder(cell),
    )
    model.compile("sgd", loss=ka.SequenceCrossentropy(), run_eagerly=True)
    ids = tokenizer.tokenize(sentences)
    search = ka.BeamSearch(2, max_length=4)
    dataset = ka.parallel_dataset  # which is imported here, not on the way
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "text")
        file.write_text("".join(f"{x}\n" for x in sentences))

        def read():
            next(iter(dataset(file, file, *2 * [tokenizer], 2)))

        return {
            "data": watch(read),
            "fit": watch(
                lambda: model.fit((ids, ids), ids, verbose=0),
                "additive_scores",
            ),
            "translate": watch(
                lambda: ka.Translator(model, *2 * [tokenizer], search)(["a"]),
                "additive_scores",
            ),
        }


if __name__ == "__main__":
    print(json.dumps(walk()))
