"""AttentionDecoder: what it does for the attentions in its cell."""

import keras
import pytest
import samples
from gradients import differentiate
from keras import ops
from samples import assert_close

from keras_attention import AttentionDecoder
from keras_attention import ChunkwiseAttention
from keras_attention import CoverageAttention
from keras_attention import DotAttention
from keras_attention import DynamicConvolutionAttention
from keras_attention import ForwardAlignment
from keras_attention import GaussianMixtureAttention
from keras_attention import LocalMonotonic
from keras_attention import LocationAwareAttention
from keras_attention import LuongGeneral
from keras_attention import Monotonic
from keras_attention.attention.coverage import coverage_loss


@pytest.mark.parametrize(
    "attention",
    [
        CoverageAttention(5),
        GaussianMixtureAttention(2),
        [LuongGeneral(alignment=LocalMonotonic(2)), DotAttention()],
        LocationAwareAttention(5, 2, 3, alignment=Monotonic()),
    ],
)
def test_states_of_attentions_are_told(attention):
    cell = samples.make_cell(attention=attention, dtype="float32")
    decoder = AttentionDecoder(cell, return_state=True)
    sequence, memory = samples.sequence("float32"), samples.source("float32")
    found = decoder(sequence, memory)
    told = decoder(*[keras.KerasTensor(x.shape) for x in (sequence, memory)])
    assert [x.shape for x in told] == [tuple(x.shape) for x in found]
    late = decoder(keras.KerasTensor((None, None, 3)), keras.Input((None, 6)))
    assert [len(x.shape) for x in late] == [len(x.shape) for x in found]


@pytest.mark.parametrize("masked", [False, True])
def test_the_coverage_loss_is_added(masked):
    cell = samples.make_cell(
        attention=[CoverageAttention(5, coverage_loss=0.5), DotAttention()],
        dtype="float32",
    )
    decoder = samples.build(AttentionDecoder(cell))
    mask = samples.sequence_mask() if masked else None
    _, weights = decoder(
        samples.sequence("float32"),
        samples.source("float32"),
        sequence_mask=mask,
        return_attention_scores=True,
    )
    (loss,) = decoder.losses
    want = 0.5 * samples.to_numpy(coverage_loss(weights[0], mask))
    assert samples.to_numpy(loss) == pytest.approx(want, abs=1e-6)
    assert want > 0.05


def test_a_call_may_ask_for_weights_or_not():
    decoder = samples.build(AttentionDecoder(samples.make_cell()))
    arrays = samples.sequence(), samples.source()
    outputs, weights = decoder(*arrays, return_attention_scores=True)
    assert_close(decoder(*arrays), outputs)
    decoder.return_attention_scores = True
    assert_close(decoder(*arrays)[1], weights)
    alone = decoder(*arrays, return_attention_scores=False)
    assert_close(alone, outputs)
    spec = [keras.KerasTensor(x.shape, "float64") for x in arrays]
    assert len(decoder(*spec, return_attention_scores=True)) == 2


MORE = {  # than `reference.py` has
    **{
        name: lambda name=name: samples.ATTENTIONS[name](dtype="float64")
        for name in ("heads", "location")
    },
    "transition-agent": lambda: LuongGeneral(
        alignment=ForwardAlignment(transition_agent=True), dtype="float64"
    ),
    "dynamic-convolution": lambda: DynamicConvolutionAttention(
        4, 2, 3, kernel_size=4, dtype="float64"
    ),
    "stepwise": lambda: LuongGeneral(
        alignment=Monotonic(stepwise=True), dtype="float64"
    ),
    "chunkwise": lambda: ChunkwiseAttention(
        LuongGeneral(alignment=Monotonic(), dtype="float64"),
        LocationAwareAttention(5, 2, 3),
        chunk_size=2,
        dtype="float64",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
def test_the_fast_loop_has_the_gradients_of_the_plain_one(name):
    cell = samples.make_cell(attention=MORE[name]())
    decoder = samples.build(AttentionDecoder(cell, dtype="float64"))
    masks = {
        "sequence_mask": samples.sequence_mask(),
        "memory_mask": samples.memory_mask(),
    }
    found = {}
    for training in (None, False):  # the second selects the plain loop

        def run(sequence, memory, training=training):
            outputs, weights = decoder(
                sequence,
                memory,
                training=training,
                return_attention_scores=True,
                **masks,
            )
            return ops.sum(ops.square(outputs)) + ops.sum(ops.square(weights))

        found[training] = differentiate(
            run,
            [samples.sequence(), samples.source()],
            decoder.trainable_variables,
        )
    assert found[None][0] == pytest.approx(found[False][0], abs=samples.EXACT)
    assert_close(found[None][1], found[False][1], atol=10 * samples.EXACT)
