"""Our models of the programs of TFA whose golden files are in `tests/golden`.

`python benchmarks/tfa_golden.py` writes these files.
"""

import functools
import json
from pathlib import Path

import keras
import numpy as np
from keras import ops
from tfa_cases import CASES
from tfa_cases import SIZE
from tfa_cases import SOURCE
from tfa_cases import SOURCE_WORDS
from tfa_cases import TARGET
from tfa_cases import TARGET_WORDS
from tfa_cases import UNITS

import keras_attention as ka

GOLDEN = Path(__file__).parents[1] / "golden" / "tfa"
CELLS = {
    "lstm": keras.layers.LSTMCell,
    "gru": keras.layers.GRUCell,
    "gru_before": lambda units: keras.layers.GRUCell(units, reset_after=False),
    "rnn": keras.layers.SimpleRNNCell,
    "layer_norm": ka.LayerNormLSTMCell,
}


@keras.saving.register_keras_serializable(package="test_migration")
class Hardmax(ka.AbstractAlignment):
    """All weight on the position with the largest score."""

    def align(self, scores, mask, state, noise, query, lengths):
        if mask is not None:
            scores = ops.where(mask, scores, -1e30)
        best = ops.argmax(scores, axis=-1)
        weights = ops.one_hot(best, ops.shape(scores)[-1], dtype=scores.dtype)
        return weights if mask is None else weights * mask, state


def make_attention(kind: str, options: dict):
    """Make the layer of a mechanism's class and arguments."""
    alignment = "softmax"
    if "Monotonic" in kind:
        alignment = ka.Monotonic(options.get("mode", "parallel"))
    elif options.get("probability_fn") == "hardmax":
        alignment = Hardmax()
    if "Luong" in kind:
        scaled = options.get("scale", False)
        return ka.LuongGeneral(scaled, alignment=alignment)
    return ka.BahdanauAttention(
        options["units"], options.get("normalize", False), alignment=alignment
    )


def make_decoder(case) -> ka.AttentionDecoder:
    """Make the decoder of a case, not yet built."""
    cells = [CELLS[name](UNITS) for name in case.cells]
    attentions = [make_attention(*one) for one in case.mechanisms]
    cell = ka.AttentionDecoderCell(
        cells if len(cells) > 1 else cells[0],
        attentions if len(attentions) > 1 else attentions[0],
        order="luong",
        input_feeding=case.fed,
        attention_layer_size=sum(case.layers) if case.layers else None,
        attention_activation=case.activation,
        attention_use_bias=case.activation is not None,
        output=case.output,
    )
    return ka.AttentionDecoder(cell)


def make_encoder(case):
    """Make the encoder of a case."""
    if case.bridge != "none":
        return ka.RecurrentEncoder(
            UNITS // 2, depth=len(case.cells), cell=case.encoder
        )
    return keras.layers.Bidirectional(
        keras.layers.LSTM(UNITS // 2, return_sequences=True)
    )


def make_model(name: str, **options) -> ka.Seq2Seq:
    """Make and build our model of a case."""
    case = CASES[name]
    bridge = None if case.bridge == "none" else ka.StateBridge(case.bridge)
    model = ka.Seq2Seq(
        **{
            "source_vocabulary_size": SOURCE_WORDS,
            "target_vocabulary_size": TARGET_WORDS,
            "embedding_dim": SIZE,
            "encoder": make_encoder(case),
            "decoder": make_decoder(case),
            "bridge": bridge,
            "return_attention_scores": True,
            **options,
        }
    )
    model.build(((None, None), (None, None)))
    return model


@functools.cache
def golden() -> tuple[dict, dict]:
    """All arrays of the golden files, and the names of all variables."""
    with np.load(GOLDEN / "programs.npz", allow_pickle=False) as file:
        arrays = dict(file)
    return arrays, json.loads((GOLDEN / "programs.json").read_text())


def variables(name: str, names: str = "names") -> list:
    """Names and values of a program's variables, in their order."""
    arrays, told = golden()
    left, found = arrays[f"{name}/weights"], []
    for one, shape in zip(told[name][names], told[name]["shapes"], strict=True):
        size = int(np.prod(shape))
        found.append((one, left[:size].reshape(shape)))
        left = left[size:]
    return found


def wanted(name: str, what: str) -> np.ndarray:
    """An output of a program of TFA."""
    return golden()[0][f"{name}/{what}"]


def decode(model):
    """Logits and weights of our model, at real steps of the target."""
    logits, weights = model((SOURCE, TARGET))
    weights = weights if isinstance(weights, list) else [weights]
    return [ops.convert_to_numpy(x) for x in (logits, *weights)]
