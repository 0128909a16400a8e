"""The states of all random generators that a training may draw from."""

import gc
import random
import sys
from typing import Any

import keras
import numpy as np


def find_shared_generator() -> keras.random.SeedGenerator | None:
    """Find the generator that Keras draws from where no seed is given.

    Keras has no name for it. It is the one that changes when such a number is
    drawn; the draw is undone.

    Returns:
        The generator, or `None` if it cannot be found.
    """
    python = random.getstate()  # a generator that is made draws its seed
    try:
        return _find_what_changes() or _find_what_changes()  # made at first
    finally:
        random.setstate(python)


def random_states(shared: keras.random.SeedGenerator | None) -> dict[str, Any]:
    """Read the states of the generators that all of a process share.

    These are Python's, NumPy's, Keras' and, where it is loaded, torch's.
    Those of layers are among the variables of their model.

    Args:
        shared: What `find_shared_generator` found.

    Returns:
        Plain values, by name.
    """
    states = {"python": random.getstate(), "numpy": np.random.get_state()}
    if shared is not None:
        states["keras"] = _read(shared.state)
    if "torch" in sys.modules:
        states["torch"] = sys.modules["torch"].get_rng_state().numpy()
    return states


def set_random_states(
    states: dict[str, Any], shared: keras.random.SeedGenerator | None
):
    """Set random generators to states that were read before.

    Args:
        states: What `random_states` returned, perhaps in another process.
        shared: What `find_shared_generator` found in this one.
    """
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    if shared is not None and "keras" in states:
        shared.state.assign(states["keras"])
    torch = sys.modules.get("torch")
    if torch is not None and "torch" in states:
        torch.set_rng_state(torch.from_numpy(states["torch"]))


def _find_what_changes():
    kind = keras.random.SeedGenerator
    generators = [x for x in gc.get_objects() if type(x) is kind]
    before = [_read(x.state) for x in generators]
    keras.random.uniform(())
    for generator, state in zip(generators, before, strict=True):
        if (_read(generator.state) != state).any():
            generator.state.assign(state)
            return generator
    return None


def _read(variable):
    return keras.ops.convert_to_numpy(variable).copy()
