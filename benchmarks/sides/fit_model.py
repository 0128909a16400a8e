"""Our encoder-decoder for a `FitWork`, with given weights, on any backend."""

import numpy as np
from draws import decoder_of_fit
from sides.decoder_model import named
from sides.decoder_model import unbuilt
from works import FitWork

from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge

PARTS = ("kernel", "recurrent_kernel", "bias")


def options(mode: str) -> dict:
    """Return the arguments of `compile`, without the optimizer.

    Args:
        mode: `"xla"`, or `"default"` for Keras' own choice.
    """
    jit_compile = True if mode == "xla" else "auto"
    return {"loss": SequenceCrossentropy(), "jit_compile": jit_compile}


def build(work: FitWork, weights: dict) -> Seq2Seq:
    """Make the model.

    Args:
        work: Its sizes.
        weights: Its weights, by the names of `works.py`.

    Returns:
        The model, not yet compiled.
    """
    decoder = unbuilt(decoder_of_fit(work))
    model = Seq2Seq(
        source_vocabulary_size=work.vocabulary,
        target_vocabulary_size=work.vocabulary,
        embedding_dim=work.size,
        encoder=RecurrentEncoder(work.units),
        bridge=StateBridge("concat"),
        decoder=decoder,
    )
    model([np.ones((1, 2), "int32"), np.ones((1, 2), "int32")])
    variables = named(decoder.cell)
    (both,) = model.encoder.layers
    for side in ("forward", "backward"):
        cell = getattr(both, f"{side}_layer").cell
        variables |= {f"{side}_{name}": getattr(cell, name) for name in PARTS}
    variables["source_embeddings"] = model.source_embedding.embeddings
    variables["target_embeddings"] = model.target_embedding.embeddings
    variables["output_kernel"] = model.output_layer.kernel
    variables["output_bias"] = model.output_layer.bias
    for name, variable in variables.items():
        variable.assign(weights[name])
    return model
