"""Our decoder for a `DecoderWork`, with given weights, on any backend."""

import keras
import numpy as np
from works import DecoderWork

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import LuongGeneral

CELLS = {"lstm": keras.layers.LSTMCell, "gru": keras.layers.GRUCell}


def build(work: DecoderWork, arrays: dict):
    """Make the decoder.

    Args:
        work: Sizes and kinds of its layers.
        arrays: Weights, by the names of `works.py`.

    Returns:
        The decoder, and its variables by these names.
    """
    decoder = unbuilt(work)
    decoder(
        np.zeros((1, 1, work.size), "float32"),
        np.zeros((1, 2, work.units), "float32"),
    )
    variables = named(decoder.cell)
    for name, variable in variables.items():
        variable.assign(arrays[name])
    return decoder, variables


def unbuilt(work: DecoderWork) -> AttentionDecoder:
    """Make the decoder, not yet built."""
    cells = [CELLS[work.cell](work.units) for _ in range(work.depth)]
    attention = LuongGeneral()
    if work.score == "additive":
        attention = BahdanauAttention(work.layer or work.units)
    cell = AttentionDecoderCell(
        cells if work.depth > 1 else cells[0],
        attention,
        order=work.order,
        attention_layer_size=work.layer,
        attention_activation=None,
        output=work.output,
    )
    return AttentionDecoder(cell)


def named(cell: AttentionDecoderCell) -> dict:
    """Return the variables of a built cell by the names of `works.py`."""
    variables = {}
    for i, inner in enumerate(cell.cells):
        for name in ("kernel", "recurrent_kernel", "bias"):
            variables[f"{name}_{i}"] = getattr(inner, name)
    attention = cell.attention
    if isinstance(attention, LuongGeneral):
        variables["score_kernel"] = attention.kernel
    else:
        for name in ("query_kernel", "key_kernel", "score_vector"):
            variables[name] = getattr(attention, name)
    if cell.attention_layer_size:
        variables["attention_kernel"] = cell.attention_kernel
    return variables
