"""Load weights of a TensorFlow Addons program."""

import operator
import warnings
from collections.abc import Mapping
from pathlib import Path

import keras
import numpy as np

from keras_attention.arrays import check_finite
from keras_attention.checks import check_object
from keras_attention.migration import names
from keras_attention.migration.sources import read_variables
from keras_attention.migration.sources import select
from keras_attention.migration.targets import cell_of
from keras_attention.migration.targets import needed_by
from keras_attention.models import Seq2Seq

MISSING, LEFT_OVER, MISSHAPEN = "Missing", "Left over", "Of another shape"
WAYS_OUT = (
    "If two variables match one weight equally well, neither is used. Use "
    "`prefix` to select a part of the source. For names that TFA does not "
    "give, such as `vars/0` in a custom layer, pass a dictionary of names and "
    "arrays. Cells of TensorFlow 1, whose kernel joins inputs and state, and "
    "the layers CuDNNLSTM and CuDNNGRU are not supported: convert them, or "
    "save an LSTM or a GRU that loaded them. A GRU needs the reset_after that "
    "it was trained with."
)


def load_tfa_weights(
    target: keras.layers.Layer,
    source: Mapping | str | Path,
    prefix: str = "",
) -> None:
    """Load weights that were trained with `tfa.seq2seq` on Keras 2.

    The function sets all weights of the target, or none if an error occurs.
    It matches weights by the names that TensorFlow Addons and Keras give them;
    outer scopes are ignored. Objects with equal names, such as the cells of a
    stack, are matched in the order of the numbers in their names. A
    `.weights.h5` file has numbers instead of names of weights, such as
    `vars/0`; in this case, the name of the layer must identify its type.

    The function converts different layouts: it transposes the kernel of
    `LuongAttention`, joins the attentional layers of several mechanisms into
    one layer, and divides embeddings by the square root of their size, because
    `Seq2Seq` multiplies them by it. An `AttentionWrapper` attends after its
    cell, so that the decoder cell needs `order="luong"`. The attentional layer
    of an `AttentionWrapper` is linear, so that the decoder cell needs
    `attention_activation=None`.

    Optimizer variables are ignored. Cells of TensorFlow 1, such as
    `tf.compat.v1.nn.rnn_cell.GRUCell`, and weights in cuDNN layout are not
    supported.

    Args:
        target: A built attention layer, `AttentionDecoderCell`,
            `AttentionDecoder` or `Seq2Seq`, or another Keras layer, such as a
            cell.
        source: The path of a checkpoint without its suffix; a folder with
            checkpoints, of which the last is loaded; a `.h5` or `.weights.h5`
            file of Keras 2; the folder of a SavedModel, of which only the
            variables are read; or a dictionary of variable names and arrays.
        prefix: Selects one of several wrappers: only variables whose names
            contain this prefix, as whole components of the name, are loaded.
            Attention mechanisms outside of the prefix are also loaded. Defaults
            to `""`, which loads all variables.

    Raises:
        ValueError: If weights are missing, left over, of another shape, or
            not finite; if the target is not built, or cannot compute the same
            as TFA; or if the source cannot be read. The target is then
            unchanged.

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
    check_object("prefix", prefix, str, "Leave it out to use all variables.")
    _check_target(target)
    everything = read_variables(source)
    variables = select(everything, prefix)
    values, differences = _match(needed_by(target), variables, everything)
    if any(differences.values()):
        lists = [
            "\n  ".join([f"{k}:", *x]) for k, x in differences.items() if x
        ]
        raise ValueError(
            "load_tfa_weights requires one variable with the right shape for "
            f"each weight of {type(target).__name__}. Nothing was changed. "
            f"Received: prefix={prefix!r} and a source with these differences."
            "\n" + "\n".join([*lists, WAYS_OUT])
        )
    check_finite("load_tfa_weights", [(x.names[0], x.value) for x in variables])
    _warn_of_activation(target, variables)
    for weight, value in values:
        weight.assign(value)


def _check_target(target):
    """Check that the target is built, and can compute the same as TFA."""
    if not target.built:
        raise ValueError(
            "load_tfa_weights needs a built `target` with weights. "
            f"Received: target of class {type(target).__name__} with "
            "built=False. Build it, or call it once."
        )
    cell = cell_of(target)
    if cell is not None and cell.attentions and cell.order != "luong":
        raise ValueError(
            "load_tfa_weights needs a cell that attends after its recurrent "
            f"cell. Received: order={cell.order!r}. Use "
            "AttentionDecoderCell(..., order='luong')."
        )
    if isinstance(target, Seq2Seq) and target.tie_embeddings:
        raise ValueError(
            "load_tfa_weights needs a model with a separate output layer, "
            "because Seq2Seq scales tied embeddings. Received: "
            "tie_embeddings=True. Use tie_embeddings=False, and a dictionary "
            "with the transposed embeddings as 'output_layer/kernel'."
        )


def _match(
    needed: list[names.Component],
    variables: list[names.Stored],
    everything: list[names.Stored],
) -> tuple[list, dict[str, list[str]]]:
    """Return the value of every weight, and mismatches by kind."""
    attends = any(names.MEMORY in x.fields for x in needed)
    stored = names.components_of(variables, everything if attends else [])
    stored = _join_layers(stored, needed)
    values, differences = [], {MISSING: [], LEFT_OVER: [], MISSHAPEN: []}
    for unit, found in _pair(needed, stored):
        fields = dict(found.fields)
        for name, slot in unit.fields.items():
            x = fields.pop(name, None)
            path, shape = slot.weight.path, tuple(slot.weight.shape)
            shape = shape[:: -1 if slot.transposed else 1]
            if x is None:
                differences[MISSING].append(f"{path} {shape}")
            elif x.value.shape != shape:
                need = f"{x.label}, where {path} takes {shape}"
                differences[MISSHAPEN].append(need)
            else:
                value = x.value.T if slot.transposed else x.value
                values.append((slot.weight, value / slot.divisor))
        differences[LEFT_OVER] += [x.label for x in fields.values()]
    return values, differences


def _pair(
    needed: list[names.Component], stored: list[names.Component]
) -> list[tuple]:
    """Match every object of the target with an object of the source.

    The source object has the same fields, and its name indicates no other
    side, direction or kind of cell. Among several candidates, those whose
    names indicate the same as the target object are preferred; among these,
    the first is used if counters order them, and otherwise none. A target
    object without a match takes a source object with some of its fields, so
    that an error can name the others.
    """
    needed, stored, pairs = [*needed], [*stored], []
    for fits in (operator.eq, operator.and_):
        for unit in [*needed]:
            alike = [
                x
                for x in stored
                if fits(unit.fields.keys(), x.fields.keys())
                and all(
                    None in pair or len({*pair}) == 1
                    for pair in zip(x.meaning, unit.meaning, strict=True)
                )
            ]
            same = [x for x in alike if x.meaning == unit.meaning]
            for first in (names.in_order(same or alike) or [])[:1]:
                needed.remove(unit)
                stored.remove(first)
                pairs.append((unit, first))
    nothing = names.Component({})
    pairs += [(x, nothing) for x in needed] + [(nothing, x) for x in stored]
    return pairs


def _join_layers(
    stored: list[names.Component], needed: list[names.Component]
) -> list[names.Component]:
    """Join the attentional layers of several mechanisms into one, if possible.

    Formula:

        [[s; c1] A, [s; c2] B] = [s; c1; c2] [[As, Bs], [Ac, 0], [0, Bc]]

    with the rows `As` of `A` for the state and `Ac` for the context.
    """
    wanted = [
        x.fields[names.KERNEL] for x in needed if names.KERNEL in x.fields
    ]
    layers = names.in_order([x for x in stored if names.KERNEL in x.fields])
    kernels = [x.fields[names.KERNEL].value for x in layers or []]
    if not wanted or len(kernels) < 2 or any(x.ndim != 2 for x in kernels):
        return stored
    rows = wanted[0].weight.shape[0]
    state, odd = divmod(sum(map(len, kernels)) - rows, len(layers) - 1)
    if odd or not 0 < state < min(map(len, kernels)):
        return stored
    columns, above = [], 0  # rows of the contexts before this one
    for kernel in kernels:
        zeros = ((above, rows - above - len(kernel)), (0, 0))
        context = np.pad(kernel[state:], zeros)
        columns.append(np.vstack([kernel[:state], context]))
        above += len(kernel) - state
    values = {names.KERNEL: np.hstack(columns)}
    biases = [
        x.fields[names.BIAS].value for x in layers if names.BIAS in x.fields
    ]
    if biases:
        values[names.BIAS] = np.hstack(biases)
    name = " + ".join("/".join(x.owner) for x in layers)
    joined = {k: names.Stored((f"{name}: {k}",), x) for k, x in values.items()}
    return [x for x in stored if names.KERNEL not in x.fields] + [
        names.Component(joined)
    ]


def _warn_of_activation(target, variables):
    """Warn if the target has an activation, because TFA's layer is linear."""
    cell = cell_of(target)
    if cell is None or cell.attention_bias is not None:
        return
    own = any(names.LAYER in map(names.base, x.parts[-2:]) for x in variables)
    if own and cell.attention_activation is not keras.activations.linear:
        name = keras.activations.serialize(cell.attention_activation)
        warnings.warn(
            "The attentional layer of TensorFlow Addons is linear, but the "
            f"target has attention_activation={name!r}. The outputs will "
            "differ. Use attention_activation=None.",
            stacklevel=3,
        )
