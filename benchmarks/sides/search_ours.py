"""Our beam search, by `Seq2Seq.generate`, on any backend."""

import keras
import numpy as np
from draws import decoder_of_search
from sides.decoder_model import named
from sides.decoder_model import unbuilt
from sides.serve import serve
from works import END
from works import START
from works import SearchWork

from keras_attention import BeamSearch
from keras_attention import Seq2Seq


def build(work: SearchWork, arrays) -> Seq2Seq:
    """Make a model with given weights, whose source is the memory itself."""
    decoder = unbuilt(decoder_of_search(work))
    model = Seq2Seq(
        target_vocabulary_size=work.vocabulary,
        embedding_dim=work.size,
        encoder=keras.layers.Identity(),
        decoder=decoder,
    )
    model([arrays["memory"], np.ones((work.batch, 1), "int32")])
    for name, variable in named(decoder.cell).items():
        variable.assign(arrays[name])
    model.target_embedding.embeddings.assign(arrays["embeddings"])
    model.output_layer.kernel.assign(arrays["output_kernel"])
    model.output_layer.bias.assign(arrays["output_bias"])
    return model


def make(work: dict, arrays: dict, mode: str):
    """Make the search, which returns all hypotheses, best first."""
    work = SearchWork(**work)
    model = build(work, arrays)
    model.compile(jit_compile=mode == "xla")
    memory = keras.ops.convert_to_tensor(arrays["memory"])
    search = BeamSearch(
        work.beams,
        n_best=work.beams,
        max_length=work.steps,
        start_id=START,
        end_id=END,
    )

    def run():
        found = model.generate(memory, search)
        return [keras.ops.convert_to_numpy(x) for x in found[:2]]

    def numbers():
        tokens, scores = run()
        return {"tokens": tokens[:, 0], "scores": scores}

    return run, numbers


if __name__ == "__main__":
    serve(make)
