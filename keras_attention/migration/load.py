"""Weights of a TensorFlow Addons program, loaded into our layers."""

import warnings
from collections.abc import Mapping
from pathlib import Path

import keras

from keras_attention.checks import check_finite
from keras_attention.checks import check_object
from keras_attention.decoder import AttentionDecoder
from keras_attention.decoder import AttentionDecoderCell
from keras_attention.migration.match import match
from keras_attention.migration.slots import wanted_by
from keras_attention.migration.sources import read_variables
from keras_attention.migration.sources import select
from keras_attention.migration.stored import base
from keras_attention.models import Seq2Seq

WAYS_OUT = (
    "Where two fit one weight equally, neither is taken. `prefix` takes a part "
    "of a source; a dictionary takes what you choose and name. Not supported "
    "are cells of TensorFlow 1, whose kernel joins inputs and state, and the "
    "layers CuDNNLSTM and CuDNNGRU: convert them, or save an LSTM or a GRU "
    "that loaded them. A GRU needs the reset_after that it was trained with."
)


def load_tfa_weights(
    target: keras.layers.Layer,
    source: Mapping | str | Path,
    prefix: str = "",
) -> None:
    """Load weights that were trained with `tfa.seq2seq` on Keras 2.

    The target takes all weights of the source, or none. It finds them by the
    names that TensorFlow Addons and Keras give; outer scopes and counters do
    not matter. Objects of the same kind and size, such as the cells of a
    stack, are taken in the order of their counters.

    What is laid out in another way is converted: the kernel of
    `LuongAttention` is transposed; the attentional layers of several
    mechanisms become one; embeddings are divided by the square root of their
    size, with which `Seq2Seq` multiplies them. An `AttentionWrapper` attends
    after its cell, so our cell needs `order="luong"`; its attentional layer
    is linear, so ours needs `attention_activation=None`.

    Variables of optimizers are ignored. Cells of TensorFlow 1, such as
    `tf.compat.v1.nn.rnn_cell.GRUCell`, and cuDNN's own weights are laid out
    differently, and are not supported.

    Args:
        target: A built attention layer, `AttentionDecoderCell`,
            `AttentionDecoder` or `Seq2Seq`, or another Keras layer, such as a
            cell.
        source: A checkpoint's path without its suffix; a folder with
            checkpoints, for the last one; a `.h5` or `.weights.h5` file of
            Keras 2; the folder of a SavedModel, of which only the variables
            are read; or a dictionary of variables' names and arrays.
        prefix: Takes only variables whose names have it, as whole parts, to
            choose one of several wrappers. Mechanisms that stand elsewhere
            come along. Defaults to `""`, all variables.

    Raises:
        ValueError: If weights are missing, left over, of another shape, or not
            finite; if the target is not built, or can never compute what TFA
            does; or if the source cannot be read. Nothing is changed then.

    Example:

    >>> attention = BahdanauAttention(4)
    >>> attention.build((None, None, 2), (None, None, 3))
    >>> load_tfa_weights(attention, {
    ...     "attention_wrapper/BahdanauAttention/kernel:0": np.ones((2, 4)),
    ...     "BahdanauAttention/memory_layer/kernel:0": np.ones((3, 4)),
    ...     "attention_wrapper/BahdanauAttention/attention_v:0": np.ones(4),
    ... })
    >>> keras.ops.convert_to_numpy(attention.score_vector).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    check_object("target", target, keras.layers.Layer, "Pass a built layer.")
    check_object("prefix", prefix, str, "Leave it out to take all variables.")
    _check_target(target)
    everything = read_variables(source)
    variables = select(everything, prefix)
    values, differences = match(wanted_by(target), variables, everything)
    if any(differences.values()):
        raise ValueError(_complaint(target, differences, prefix))
    check_finite("load_tfa_weights", [(x.names[0], x.value) for x in variables])
    _warn_of_activation(target, variables)
    for slot, value in values:
        slot.assign(value)


def _check_target(target):
    """Check that the target is built, and can compute what TFA does."""
    if not target.built:
        raise ValueError(
            "load_tfa_weights needs a target that is built, since its weights "
            "say what to look for. Received: target of class "
            f"{type(target).__name__} with built=False. Build it, or call it "
            "once."
        )
    cell = _cell_of(target)
    if cell is not None and cell.attentions and cell.order != "luong":
        raise ValueError(
            "load_tfa_weights needs a cell that attends after its recurrent "
            "cell, as an AttentionWrapper does. Received: "
            f"order={cell.order!r}. Use AttentionDecoderCell(..., "
            "order='luong')."
        )
    if isinstance(target, Seq2Seq) and target.tie_embeddings:
        raise ValueError(
            "load_tfa_weights needs a model with an output layer: Seq2Seq "
            "multiplies embeddings by sqrt(embedding_dim), but not the output "
            "layer that is tied to them. Received: tie_embeddings=True. Use "
            "tie_embeddings=False, and a dictionary that has the table "
            "transposed as 'output_layer/kernel'."
        )


def _cell_of(target) -> AttentionDecoderCell | None:
    if isinstance(target, Seq2Seq):
        target = target.decoder
    if isinstance(target, AttentionDecoder):
        target = target.cell
    return target if isinstance(target, AttentionDecoderCell) else None


def _complaint(target, differences: dict, prefix: str) -> str:
    """Return the text of the error, with all that does not fit."""
    said = [
        f"load_tfa_weights needs one variable for each weight of "
        f"{type(target).__name__}, of its shape. Nothing was changed. "
        f"Received: prefix={prefix!r} and a source with these differences."
    ]
    for kind, labels in differences.items():
        if labels:
            said.append("\n  ".join([f"{kind}:", *labels]))
    return "\n".join([*said, WAYS_OUT])


def _warn_of_activation(target, variables):
    """Warn where TFA's own layer, which is linear, meets an activation."""
    cell = _cell_of(target)
    if cell is None or cell.attention_layer_size is None:
        return
    own = [
        x.parts[-1]
        for x in variables
        if base("".join(x.parts[-2:-1])) == "attention_layer"
    ]
    linear = cell.attention_activation is keras.activations.linear
    if own and "bias" not in own and not linear:
        name = keras.activations.serialize(cell.attention_activation)
        warnings.warn(
            "The attentional layer of TensorFlow Addons is linear, and that "
            f"of the target is not: attention_activation={name!r}. Its "
            "outputs will differ. Use attention_activation=None.",
            stacklevel=3,
        )
