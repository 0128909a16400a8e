"""An ONNX file in onnxruntime, from ids to ids."""

from pathlib import Path

import onnxruntime
from sides.serve import serve
from sides.serving_requests import serving
from works import ServingWork


def make(work: dict, arrays: dict, mode: str):
    """Load the file of a mode; a thread that waits does not spin."""
    work = ServingWork(**work)

    def load():
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = work.threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        file = Path(work.folder) / f"{mode}.onnx"
        session = onnxruntime.InferenceSession(file, options)

        def translate(ids):
            found = session.run(["tokens", "scores"], {"source_ids": ids})
            return found[0][:, 0], found[1][:, 0]

        return translate

    return serving(load, arrays["sources"])


if __name__ == "__main__":
    serve(make)
