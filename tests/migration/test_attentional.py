"""join_layers: several attentional layers are one with zeros in its kernel."""

import numpy as np
import samples

from keras_attention.migration.attentional import join_layers
from keras_attention.migration.groups import Group
from keras_attention.migration.slots import Slot
from keras_attention.migration.stored import Stored

STATE, CONTEXT = 2, 3


class Weight:
    def __init__(self, *shape):
        self.shape = shape


def layer(size, rows=STATE + CONTEXT):
    kernel = Stored((f"{size}/kernel",), samples.draw(rows, size, seed=size))
    bias = Stored((f"{size}/bias",), samples.draw(size, seed=10 + size))
    return Group((str(size),), {"kernel": kernel, "bias": bias})


def test_the_joint_layer_computes_what_each_does():
    layers = [layer(4), layer(1), layer(2)]
    slots = {"kernel": Slot(Weight(STATE + 3 * CONTEXT, 7))}
    joint, left = join_layers(layers, 3, slots)
    state = samples.draw(1, STATE)
    contexts = [samples.draw(1, CONTEXT, seed=i) for i in range(3)]
    wanted = [
        np.concatenate([state, c], -1) @ one.fields["kernel"].value
        + one.fields["bias"].value
        for c, one in zip(contexts, layers, strict=True)
    ]
    got = np.concatenate([state, *contexts], -1) @ joint.fields["kernel"].value
    got = got + joint.fields["bias"].value
    np.testing.assert_allclose(got, np.concatenate(wanted, -1), atol=1e-12)
    assert left == []


def test_layers_that_cannot_be_joined_are_left():
    slots = {"kernel": Slot(Weight(STATE + 2 * CONTEXT, 5))}
    layers = [layer(4), layer(1)]
    assert join_layers(layers, 1, slots) == (layers[0], layers[1:])
    layers = [layer(4), layer(1, rows=7)]
    assert join_layers(layers, 2, slots) == (None, layers)
    assert join_layers([], 2, slots) == (None, [])
