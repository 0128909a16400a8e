"""attend_in_order: the steps of a sequence, one after the other."""

import numpy as np
import pytest
from gradients import to_numpy
from gradients import to_tensor
from keras import ops

from keras_attention import Memory
from keras_attention.attention.sequences import attend_in_order

B, TQ, TV, D = 2, 3, 4, 5


@pytest.mark.parametrize("masked", [False, True])
def test_states_masks_and_noise_belong_to_their_step(masked):
    draw = np.random.default_rng(0).normal
    query, values = draw(size=(B, TQ, D)), draw(size=(B, TV, D))
    noise = draw(size=(TQ, B, 1, TV))
    mask = draw(size=(B, TQ, TV)) > 0 if masked else None

    def attend(query, memory, visible, state, noise):
        (count,) = state
        weights = noise + count
        if visible is not None:
            weights = weights * ops.cast(visible, "float64")
        return query + memory.values[:, :1], weights, (count + 1,)

    context, weights = attend_in_order(
        attend,
        to_tensor(query),
        Memory(None, to_tensor(values)),
        None if mask is None else to_tensor(mask),
        (to_tensor(np.zeros((B, 1, 1))),),
        to_tensor(noise),
        D,
    )
    wanted = noise[:, :, 0].swapaxes(0, 1) + np.arange(TQ)[:, None]
    wanted = wanted * mask if masked else wanted
    np.testing.assert_allclose(to_numpy(weights), wanted, atol=1e-12)
    np.testing.assert_allclose(
        to_numpy(context), query + values[:, :1], atol=1e-12
    )
