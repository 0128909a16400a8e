"""A SavedModel in a session of TensorFlow, as TensorFlow Serving runs it.

Both run on the same TensorFlow: the SavedModel with TFA's decoder needs no
operation of TFA's own.
"""

import importlib
from pathlib import Path

from sides.serve import serve
from sides.serving_requests import serving
from sides.serving_requests import set_threads
from works import ServingWork


def make(work: dict, arrays: dict, mode: str):
    """Load the folder `mode`, `"ours"` or `"tfa"`."""
    work = ServingWork(**work)
    set_threads(work.threads)
    runtime = importlib.import_module("served")

    def load():
        if mode == "ours":
            runtime.load_operations()
        model = runtime.Model(str(Path(work.folder) / mode / "1"))

        def translate(texts):
            given = [text.encode() for text in texts]
            found = model.run("serving_default", given)
            best = (found["translations"], found["scores"])
            tokens, scores = (x.reshape(len(texts), -1)[:, 0] for x in best)
            return tokens, scores if scores.any() else None

        return translate

    return serving(load, arrays["sources"], takes_text=True)


if __name__ == "__main__":
    serve(make)
