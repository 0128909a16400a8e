"""Models whose first training step takes a moment and not half a minute."""

import contextlib
import sys

import keras
import numpy as np

# XLA, which is the default, compiles every step for seconds. Tests that are
# about something else take a plain graph; JAX has nothing between.
GRAPH = {"jit_compile": "auto" if keras.backend.backend() == "jax" else False}
# One or two steps are faster without a graph; on JAX with one.
EAGER = {"run_eagerly": keras.backend.backend() != "jax"}


def make_ready(model: keras.Model, inputs) -> keras.Model:
    """Make all weights of a compiled model, and its optimizer's.

    TensorFlow traces a function again if its first trace made variables,
    which takes most of the time of a tiny model's first step.

    Args:
        model: A compiled model.
        inputs: What its call takes.

    Returns:
        The same model.
    """
    if not model.built:
        model.build(keras.tree.map_structure(np.shape, inputs))
    model.optimizer.build(model.trainable_variables)
    return model


@contextlib.contextmanager
def dtype_policy(name):
    """Let layers that are made in a `with` block have a dtype policy."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


@contextlib.contextmanager
def without_graphs(without=True):
    """Run functions that TensorFlow would trace first, for seconds.

    Args:
        without: `False` to trace them again, in such a `with` block, where
            there are many steps. Defaults to `True`.
    """
    if keras.backend.backend() != "tensorflow":
        yield
        return
    config = sys.modules["tensorflow"].config
    before = config.functions_run_eagerly()
    config.run_functions_eagerly(without)
    try:
        yield
    finally:
        config.run_functions_eagerly(before)
