"""Run recurrent Keras layers in a form that all formats support."""

import contextlib
import functools
import inspect
from collections.abc import Callable
from collections.abc import Iterator

from keras import layers
from keras import tree

from keras_attention.backend import ops
from keras_attention.decoder.stack import CellStack
from keras_attention.decoder.stack import run_cells
from keras_attention.layers import loops_as_keras
from keras_attention.layers import sublayers


@contextlib.contextmanager
def exportable_recurrence(model: layers.Layer) -> Iterator[None]:
    """Make every recurrent layer run its cell in this package's loop.

    Keras' loop collects its outputs in TensorArrays, which a LiteRT file with
    a variable batch size cannot contain. This loop gives the same numbers.
    Dropout is off inside the block, because a layer draws masks even if it
    does not apply them.

    Args:
        model: The model. Its recurrent layers must be Keras layers: `LSTM`,
            `GRU`, `SimpleRNN`, or `RNN` with any cell, also in a wrapper.

    Raises:
        ValueError: If the model has another recurrent layer, or a stateful
            one.
    """
    check_stateless(model)
    with contextlib.ExitStack() as stack:
        for layer in sublayers(model):
            if isinstance(layer, layers.RNN):
                _check(layer)
                stack.enter_context(replaced_loop(layer, _inner_loop))
            _keep_all(stack, layer)
        yield


@contextlib.contextmanager
def replaced_loop(layer: layers.RNN, loop: Callable) -> Iterator[None]:
    """Replace the loop of a recurrent layer; blocks can be nested.

    Args:
        layer: The layer.
        loop: Function of the layer and of what `RNN.inner_loop` takes.
    """
    before = layer.inner_loop
    layer.inner_loop = functools.partial(loop, layer)
    try:
        yield
    finally:
        if inspect.ismethod(before):  # that of its class
            del layer.inner_loop
        else:
            layer.inner_loop = before


def _keep_all(stack, layer):
    """Turn off the dropout of a cell until a context stack ends."""
    if hasattr(layer, "get_dropout_mask"):
        for rate in ("dropout", "recurrent_dropout"):
            stack.callback(setattr, layer, rate, getattr(layer, rate))
            setattr(layer, rate, 0.0)


@contextlib.contextmanager
def exportable_steps(model: layers.Layer) -> Iterator[None]:
    """Make every `TimeDistributed` call its layer once for all steps.

    If lengths are unknown, Keras maps the layer over as many steps as there
    are rows, with operations that LiteRT lacks. Dropout is off, too, because
    recurrent layers draw masks even if they do not apply them.

    Args:
        model: The model.
    """
    with contextlib.ExitStack() as stack:
        for layer in sublayers(model):
            if type(layer) is layers.TimeDistributed:
                stack.callback(delattr, layer, "call")
                layer.call = functools.partial(_call_once, layer.layer)
            _keep_all(stack, layer)
        yield


def _call_once(layer, inputs, training=None, mask=None):
    """Compute `TimeDistributed.call` with one call of its layer."""
    options = {"training": training, "mask": mask}
    if mask is not None:
        rows = ops.shape(mask)[0] * ops.shape(mask)[1]
        options["mask"] = ops.reshape(mask, (rows, *ops.shape(mask)[2:]))
    taken = inspect.signature(layer.call).parameters
    options = {name: x for name, x in options.items() if name in taken}
    batch, steps, *rest = ops.shape(inputs)
    found = layer.call(ops.reshape(inputs, (batch * steps, *rest)), **options)
    return ops.reshape(found, (batch, steps, *ops.shape(found)[1:]))


def _check(layer):
    """Raise a `ValueError` for a layer whose loop cannot be replaced."""
    kind = type(layer)
    if not loops_as_keras(layer):
        raise ValueError(
            f"The export cannot trace {kind.__name__} `{layer.name}`, which "
            "has its own loop. Use LSTM, GRU, SimpleRNN or RNN(cell), plain "
            "or inside Bidirectional. Custom cells are supported."
        )


def check_stateless(model: layers.Layer):
    """Raise a `ValueError` for a stateful model."""
    for layer in sublayers(model):
        if getattr(layer, "stateful", False):
            raise ValueError(
                f"The export cannot keep the state of {type(layer).__name__} "
                f"`{layer.name}` between batches. Received: stateful=True. "
                "Build the layer with stateful=False."
            )


def _inner_loop(layer, sequences, initial_state, mask, **_):
    """Replace `RNN.inner_loop`: return last output, all outputs, and states."""
    if not tree.is_nested(initial_state):
        initial_state = [initial_state]
    if mask is not None:  # (B, T) or (B, T, 1), alone or in a list
        mask = ops.cast(tree.flatten(mask)[0], "bool")
        mask = ops.swapaxes(ops.reshape(mask, ops.shape(mask)[:2]), 0, 1)
    outputs, states = run_cells(
        CellStack(layer.cell),
        ops.swapaxes(sequences, 0, 1),  # (T, B, ...)
        mask,
        tree.flatten(initial_state),
        backwards=layer.go_backwards,
        repeats=not layer.zero_output_for_mask,
    )
    if layer.go_backwards:
        outputs = ops.flip(outputs, axis=0)
    last = outputs[-1]
    outputs = ops.swapaxes(outputs, 0, 1)  # (B, T, ...)
    if not layer.return_sequences:
        outputs = ops.expand_dims(last, 1)
    return last, outputs, tree.pack_sequence_as(initial_state, states)
