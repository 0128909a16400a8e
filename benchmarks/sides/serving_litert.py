"""A LiteRT file, from ids to ids."""

from pathlib import Path

from ai_edge_litert.interpreter import Interpreter
from sides.serve import serve
from sides.serving_requests import serving
from works import ServingWork


def make(work: dict, arrays: dict, mode: str):
    """Load the file of the weights `mode`, `"float32"` or `"int8"`."""
    work = ServingWork(**work)

    def load():
        interpreter = Interpreter(
            model_path=str(Path(work.folder) / f"{mode}.tflite"),
            num_threads=work.threads,
        )
        run = interpreter.get_signature_runner("translate_ids")

        def translate(ids):
            found = run(source_ids=ids)
            return found["tokens"][:, 0], found["scores"][:, 0]

        return translate

    return serving(load, arrays["sources"])


if __name__ == "__main__":
    serve(make)
