"""A `Translator` that was saved, in Python."""

from pathlib import Path

import numpy as np
import tensorflow as tf
from sides.serve import serve
from sides.serving_requests import serving
from works import ServingWork

from keras_attention import Translator


def make(work: dict, arrays: dict, mode: str):
    """Load it; mode `"xla"` compiles its model."""
    work = ServingWork(**work)
    tf.config.threading.set_intra_op_parallelism_threads(work.threads)
    tf.config.threading.set_inter_op_parallelism_threads(work.threads)

    def load():
        translator = Translator.load(Path(work.folder) / "translator")
        if mode == "xla":
            translator.model.compile(jit_compile=True)

        def translate(texts):
            found = translator(
                texts, return_scores=True, batch_size=len(texts), verbose=0
            )
            return found.texts, np.array(found.scores)

        return translate

    return serving(load, arrays["sources"], takes_text=True)


if __name__ == "__main__":
    serve(make)
