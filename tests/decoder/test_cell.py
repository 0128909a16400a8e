"""AttentionDecoderCell: one step, against one row in NumPy."""

import keras
import numpy as np
import pytest
import samples
from keras import ops
from reference import ReferenceDecoder
from samples import BATCH
from samples import DIM
from samples import DV
from samples import UNITS
from samples import WORDS
from samples import assert_close
from samples import draw
from samples import make_cell
from samples import to_numpy

from keras_attention import AbstractAttention
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import CoverageAttention
from keras_attention import DotAttention
from keras_attention import LuongGeneral
from keras_attention.ops import dot_scores

ORDERS = ["bahdanau", "luong"]
REAL = samples.memory_mask()


def make(*args, **kwargs):
    cell = make_cell(*args, **kwargs)
    cell.build((None, DIM), (None, None, DV) if cell.attentions else None)
    samples.randomize(cell)
    return cell


def states(cell, *shape):
    layout = cell.state_layout
    sizes = [*layout.cell_sizes, *[layout.fed_size] * bool(layout.fed_size)]
    return [draw(*shape, size, seed=i) for i, size in enumerate(sizes)]


def inputs(*shape):
    return draw(*shape, DIM, seed=9)


def prepare(cell):
    return cell.prepare(samples.source(), samples.memory_mask())


def check_against_the_papers(cell, **kwargs):
    """From any states, the vector that is fed back included."""
    x, before = inputs(BATCH), states(cell, BATCH)
    output, weights, after = cell.step(x, before, prepare(cell))
    want = ReferenceDecoder(cell, **kwargs).run(
        x[:, None], samples.source(), before, None, samples.memory_mask()
    )
    weights = weights if isinstance(weights, list) else [weights]
    assert_close(output, want[0][:, 0])
    assert_close(weights, [w[:, 0] for w in want[1]])
    assert_close(after, want[2])


# Against the oracle.


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("output", ["auto", "cell", "attention", "concat"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("size", [None, 7])
def test_every_output_agrees_with_the_papers(size, bias, output, order):
    cell = make(
        order=order,
        output=output,
        attention_layer_size=size,
        attention_use_bias=bias,
    )
    check_against_the_papers(cell)
    sizes = {"cell": UNITS, "attention": size or DV, "concat": UNITS + DV}
    sizes["auto"] = sizes["attention" if size else "concat"]
    assert cell.output_size == sizes[output]


@pytest.mark.parametrize("size", [None, 7])
def test_without_input_feeding_nothing_is_fed_back(size):
    cell = make(order="luong", input_feeding=False, attention_layer_size=size)
    check_against_the_papers(cell)
    assert cell.cells[0].kernel.shape[0] == DIM
    assert cell.state_layout == ([UNITS, UNITS], 0, 0)


@pytest.mark.parametrize("name", [None, "linear", "relu"])
def test_the_attentional_layer_has_another_activation(name):
    cell = make(
        order="luong", attention_layer_size=7, attention_activation=name
    )
    relu = {"activation": lambda x: np.maximum(x, 0)}
    linear = {"activation": lambda x: x}
    check_against_the_papers(cell, **(relu if name == "relu" else linear))


@pytest.mark.parametrize("order", ORDERS)
def test_contexts_of_several_attentions_are_concatenated(order):
    attentions = [
        BahdanauAttention(5, dtype="float64"),
        LuongGeneral(dtype="float64"),
    ]
    cell = make("gru", attentions, order=order, attention_layer_size=7)
    check_against_the_papers(cell)
    assert isinstance(prepare(cell), list)
    assert cell.attention_kernel.shape == (UNITS + 2 * DV, 7)


# Calls and beams.


@pytest.mark.parametrize("order", ORDERS)
def test_a_call_is_a_step_without_the_weights(order):
    cell = make(order=order, attention_layer_size=7)
    memory, before = prepare(cell), states(cell, BATCH)
    output, _, after = cell.step(inputs(BATCH), before, memory)
    called = cell(inputs(BATCH), before, memory=memory)
    assert_close(called, (output, after), 1e-12)


def test_a_memory_may_be_a_plain_list():
    """As Keras hands it on after a reload."""
    cell = make()
    memory, before = prepare(cell), states(cell, BATCH)
    want = cell.step(inputs(BATCH), before, memory)
    assert_close(cell.step(inputs(BATCH), before, list(memory)), want, 0)


class CountingAttention(AbstractAttention):
    """Has a state: how many steps there were, and a half of it."""

    state_count = 2

    def score(self, query, keys):
        return dot_scores(query, keys)

    def initial_state(self, memory, beams=1):
        zeros = ops.zeros((ops.shape(memory[1])[0], beams))
        return zeros, ops.expand_dims(zeros, -1)

    def step(self, query, memory, state=(), noise=None):
        context, weights, _ = super().step(query, memory, noise=noise)
        return context, weights, (state[0] + 1, state[1] + 0.5)


@pytest.mark.parametrize("beams", [None, 1, 3])
def test_states_and_noise_go_to_their_attention(beams):
    """Beside one without a state, and one that draws no noise."""
    attentions = [
        CountingAttention(dropout=0.5, dtype="float64"),
        DotAttention(dtype="float64"),
        CountingAttention(dtype="float64"),
    ]
    cell = AttentionDecoderCell(
        keras.layers.GRUCell(DV, dtype="float64"),
        attentions,
        output="attention",
        dtype="float64",
    )
    cell.build((None, DIM), (None, None, DV))
    middle, memories = [beams] * bool(beams), prepare(cell)
    for attention, memory in zip(attentions, memories, strict=True):
        want = attention.prepare(samples.source(), value_mask=REAL)
        assert_close(memory, want, 0)
    drawn, *nothing = cell.draw_noise(memories, 7, beams)
    assert nothing == [None, None]
    assert tuple(drawn.shape) == (7, BATCH, *middle, WORDS)
    first = cell.initial_state(memories, beams=beams)
    shapes = [(DV,), (), (1,), (), (1,)]
    for x, shape in zip(first, shapes, strict=True):
        assert tuple(x.shape) == (BATCH, *middle, *shape)
    before = [x + 10.0 * n for n, x in enumerate(first)]
    output, weights, after = cell.step(
        inputs(BATCH, *middle), before, memories, True, [0 * drawn[0], *nothing]
    )
    counts = [np.unique(to_numpy(x)).tolist() for x in after[1:]]
    assert counts == [[11.0], [20.5], [31.0], [40.5]]
    output = to_numpy(output)
    assert (output[..., :DV] == 0).all()
    assert (output[..., DV:] != 0).all()
    for x in to_numpy(weights):
        assert x.shape == (BATCH, *middle, WORDS)
        assert (np.moveaxis(x, -1, 1)[~samples.memory_mask()] == 0).all()


# Initial states.


@pytest.mark.parametrize("beams", [None, 1, 3])
@pytest.mark.parametrize("given", [False, True])
def test_initial_states(given, beams):
    cell = make("stack", order="luong", attention_layer_size=7)
    own = states(cell, BATCH)[:3]
    memory = prepare(cell)
    found = to_numpy(cell.initial_state(memory, own if given else None, beams))
    own = [x if given else np.zeros_like(x) for x in own]
    for x, y in zip(found, [*own, np.zeros((BATCH, 7))], strict=True):
        if beams is None:
            np.testing.assert_array_equal(x, y)
        else:
            assert x.shape == (BATCH, beams, y.shape[-1])
            np.testing.assert_array_equal(x[:, -1], y)


def test_initial_states_without_attention_must_be_given():
    cell = make("gru", None)
    with pytest.raises(ValueError, match="cell_states"):
        cell.initial_state(None)
    state = draw(BATCH, UNITS)
    assert_close(cell.initial_state(None, state), [state], 0)


@pytest.mark.parametrize("wrong", ["few", "many", "fed", "size", "sizes"])
def test_refuses_states_that_do_not_fit(wrong):
    cell = make("lstm", CoverageAttention(3, dtype="float64"), order="luong")
    h, c, fed = states(cell, BATCH)
    coverage = np.zeros((BATCH, WORDS))
    every = {
        "few": [h],
        "many": [h, c, fed, coverage, coverage],
        "fed": [h, c, fed],  # without those of the attention
        "size": [h[:, :3], c],
        "sizes": [h, c, fed[:, :3], coverage],
    }
    memory = prepare(cell)
    with pytest.raises(ValueError, match="StateBridge"):
        cell.initial_state(memory, every[wrong])
    if "size" not in wrong:
        with pytest.raises(ValueError, match="4 states"):
            cell.step(inputs(BATCH), every[wrong], memory)


# Dropout in a loop of one's own.


def own_loop(cell, batch, block, steps=2):
    """The outputs of steps that differ in their dropout alone."""
    memory = cell.prepare(np.ones((batch, WORDS, DV)))
    first = cell.initial_state(memory)
    x = np.ones((batch, DIM))

    def run(masks=None):
        return [
            to_numpy(cell.step(x, first, memory, True, masks=masks)[0])
            for _ in range(steps)
        ]

    if not block:
        return run()
    with cell.dropout_masks(batch, training=True) as masks:
        return run(masks)


@pytest.mark.parametrize("block", [False, True])
def test_dropout_never_goes_stale(block):
    cell = make("stack", own={"dropout": 0.5, "recurrent_dropout": 0.5})
    results = [own_loop(cell, batch, block) for batch in (8, 2, 8)]
    for (a, b), batch in zip(results, (8, 2, 8), strict=True):
        assert a.shape[0] == batch
        assert np.array_equal(a, b) == block  # drawn once for a block
    assert not np.allclose(results[0][0], results[2][0])


# Config, regularizers, constraints.


def test_regularizers_reach_the_losses():
    l2 = keras.regularizers.L2(0.5)
    attention = BahdanauAttention(5, kernel_regularizer=l2, dtype="float64")
    cell = make(
        "lstm",
        attention,
        attention_layer_size=7,
        kernel_regularizer=l2,
        own={"recurrent_regularizer": l2},
    )
    kernels = [
        attention.query_kernel,
        attention.key_kernel,
        attention.score_vector,
        cell.attention_kernel,
        cell.cell.recurrent_kernel,
    ]
    want = sorted(0.5 * np.sum(to_numpy(w) ** 2) for w in kernels)
    losses = sorted(map(to_numpy, cell.losses))
    np.testing.assert_allclose(losses, want, rtol=1e-6)


# Errors.


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"order": "middle"}, "`order` must be one of"),
        ({"output": "context"}, "`output` must be one of"),
        ({"input_feeding": False}, "applies only to order='luong'"),
        ({"attention_layer_size": 0}, "must be a positive"),
        ({"attention": None, "output": "attention"}, "need attention"),
        ({"attention": None, "output": "concat"}, "need attention"),
        ({"attention": None, "attention_layer_size": 7}, "need attention"),
        ({"attention": keras.layers.Dense}, "Pass an attention layer"),
        ({"attention": "bahdanau"}, "Pass an attention layer"),
        ({"attention": [None]}, "Pass an attention layer"),
        ({"attention": DotAttention}, "Pass an attention layer"),
        ({"attention": ()}, r"at least one layer.*attention=None"),
    ],
)
def test_refuses_wrong_arguments(wrong, word):
    good = {"cell": keras.layers.LSTMCell(4), "attention": LuongGeneral()}
    with pytest.raises(ValueError, match=word):
        AttentionDecoderCell(**{**good, **wrong})


def test_keras_rnn_is_refused_by_name():
    for wrap in (lambda x: x, lambda x: [keras.layers.LSTMCell(4), x]):
        with pytest.raises(ValueError, match="AttentionDecoder"):
            keras.layers.RNN(wrap(make_cell()))


def test_a_decoder_cell_is_no_inner_cell():
    with pytest.raises(ValueError, match="AttentionDecoder"):
        AttentionDecoderCell(make_cell(), LuongGeneral())


def test_a_step_needs_weights_and_memory():
    cell = make_cell()
    with pytest.raises(ValueError, match="AttentionDecoder"):
        cell.step(inputs(BATCH), [], None)
    with pytest.raises(ValueError, match="weights"):
        cell.prepare(samples.source())
    cell = make()
    with pytest.raises(ValueError, match="memory"):
        cell.prepare(None)
    with pytest.raises(ValueError, match="memory=None"):
        cell.initial_state(None)
    with pytest.raises(ValueError, match="memory=None"):
        cell.step(inputs(BATCH), states(cell, BATCH))
    with pytest.raises(ValueError, match="memory=None"):
        make_cell().build((None, DIM))


def test_it_tells_shapes_without_numbers():
    cell = make(
        "lstm",
        CoverageAttention(3),
        dtype="float16",
        own={"recurrent_initializer": "glorot_uniform"},
    )
    memory = cell.prepare(samples.source("float16"))
    states = cell.initial_state(memory)
    specs = [keras.KerasTensor(x.shape, x.dtype) for x in states]
    inputs = keras.KerasTensor((BATCH, DIM), "float16")
    output, after = cell.compute_output_spec(inputs, specs, memory)
    wanted, _, real = cell.step(np.zeros((BATCH, DIM)), states, memory)
    assert output.shape == wanted.shape
    assert [x.dtype for x in after] == [
        keras.backend.standardize_dtype(x.dtype) for x in real
    ]
    shapes = cell.compute_output_shape(inputs.shape, [x.shape for x in specs])
    assert shapes == (wanted.shape, [tuple(x.shape) for x in real])
