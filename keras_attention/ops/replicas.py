"""What replicas share and draw apart; see `AbstractBackend.replica`."""

import keras

from keras_attention.backend import backend
from keras_attention.backend import ops

APART = 1_000_003  # a prime: between the seeds of two replicas


def add_shared_loss(layer: keras.layers.Layer, loss):
    """Add an auxiliary loss that is a mean over all replicas.

    Replicas in threads of one process share the layer, and its list of losses.
    Each replica adds an equal share of the value, with the whole gradient of
    its own rows, and then waits for the other replicas. Therefore, a replica
    that reads the list finds the shares of all replicas.

    Args:
        layer: The layer that is called.
        loss: A scalar, the same in all replicas, made by
            `sum_over_replicas`.
    """
    _, count = backend.replica()
    if count > 1:
        sharing = backend.barrier()
        loss = loss - ops.stop_gradient(loss) * (1 - 1 / sharing)
    layer.add_loss(loss)
    if count > 1:
        backend.barrier()


def own_seed(seed_generator: keras.random.SeedGenerator):
    """Return a generator whose seeds are this replica's own.

    Each replica has a copy of the generator's state. All copies are equal, so
    that without this function, all replicas would draw the same numbers.

    Args:
        seed_generator: The generator of a layer.

    Returns:
        A generator for functions of `keras.random`: the same one in the first
        replica and where there is one.
    """
    number, count = backend.replica()
    return seed_generator if count == 1 else _Own(seed_generator, number)


class _Own(keras.random.SeedGenerator):
    """Passes on the seeds of another generator, shifted by the replica."""

    def __init__(self, seed_generator, number):
        # It has no state, so what the base makes is not wanted.
        self.seed_generator, self.number = seed_generator, number

    def next(self, ordered: bool = True):
        seed = self.seed_generator.next(ordered)
        shift = ops.stack([self.number * APART, 0])
        return seed + ops.cast(shift, seed.dtype)
