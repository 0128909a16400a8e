"""AttentionDecoder: the loop, against one row and one step in NumPy."""

import itertools

import keras
import numpy as np
import pytest
import samples
from keras import ops
from reference import ReferenceDecoder
from samples import BATCH
from samples import DV
from samples import STEPS
from samples import UNITS
from samples import WORDS
from samples import assert_close
from samples import first_states
from samples import make_cell
from samples import to_numpy

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import CoverageAttention
from keras_attention import DotAttention
from keras_attention import LocationAttention

MASKS = {
    "full": {},
    "padded": {
        "sequence_mask": samples.sequence_mask(),
        "memory_mask": samples.memory_mask(),
    },
}


def make(*args, dtype="float64", **kwargs):
    """A built decoder with random weights, which returns everything."""
    return samples.build(
        AttentionDecoder(
            make_cell(*args, dtype=dtype, **kwargs),
            return_state=True,
            return_attention_scores=True,
            dtype=dtype,
        )
    )


def run(decoder, states=None, masks="padded", **changes):
    """All that a decoder returns: output, list of weights, list of states."""
    memory = samples.source() if decoder.cell.attentions else None
    inputs = {"sequence": samples.sequence(), "memory": memory}
    output, weights, *states = decoder(
        **{**inputs, "initial_state": states, **MASKS[masks], **changes}
    )
    weights = weights if isinstance(weights, list) else [weights]
    return output, weights if decoder.cell.attentions else [], states


def check_against_the_papers(decoder, masks="padded", **kwargs):
    states = first_states(decoder)
    memory = samples.source() if decoder.cell.attentions else None
    want = ReferenceDecoder(decoder.cell, **kwargs).run(
        samples.sequence(), memory, states, **MASKS[masks]
    )
    assert_close(run(decoder, states, masks), want)


# Against the oracle.


@pytest.mark.parametrize("masks", MASKS)
@pytest.mark.parametrize("cell", ["lstm", "gru", "stack"])
@pytest.mark.parametrize("order", ["bahdanau", "luong"])
def test_agrees_with_the_papers(order, cell, masks):
    check_against_the_papers(make(cell, order=order), masks)


@pytest.mark.parametrize("order", ["bahdanau", "luong"])
@pytest.mark.parametrize("cell", ["lstm", "stack"])
def test_without_attention_it_is_keras_rnn(cell, order):
    decoder = make(cell, None, order=order)
    check_against_the_papers(decoder)
    inner = decoder.cell.cells
    if cell == "stack":
        inner = [keras.layers.StackedRNNCells(inner, dtype="float64")]
    rnn = keras.layers.RNN(inner[0], return_sequences=True, dtype="float64")
    output, weights, _ = run(decoder, masks="full")
    assert_close(output, rnn(samples.sequence()))
    assert weights == []


def test_without_attention_a_functional_model_has_no_weights():
    decoder = AttentionDecoder(make_cell("gru", None))
    sequence, state = keras.Input((None, 3)), keras.Input((UNITS,))
    assert decoder(sequence, initial_state=[state]).shape[2] == UNITS
    with pytest.raises(ValueError, match=r"attention=None\. Omit"):
        decoder(sequence, initial_state=[state], return_attention_scores=True)


# States.


@pytest.mark.parametrize("cell", ["stack", "lstm"])
@pytest.mark.parametrize("order", ["bahdanau", "luong"])
def test_returned_states_continue_a_sequence(order, cell):
    decoder = make(cell, order=order, attention_layer_size=7)
    whole = run(decoder)
    halves, states = [], None
    for part in (slice(0, 2), slice(2, STEPS)):
        *results, states = run(
            decoder,
            states,
            sequence=samples.sequence()[:, part],
            sequence_mask=samples.sequence_mask()[:, part],
        )
        halves.append(results)
    assert_close(states, whole[2], 1e-12)
    for i in range(2):
        parts = [keras.tree.flatten(half[i])[0] for half in halves]
        whole_part = keras.tree.flatten(whole[i])[0]
        assert_close(ops.concatenate(parts, axis=1), whole_part, 1e-12)


def test_initial_states_may_be_nested():
    decoder = make("stack")
    h, c, g = first_states(decoder)
    assert_close(run(decoder, [[h, c], g]), run(decoder, [h, c, g]), 0)
    assert_close(run(decoder, [[h, c], [g]]), run(decoder, [h, c, g]), 0)


# What it returns.


@pytest.mark.parametrize(
    ("sequences", "state", "scores"),
    list(itertools.product([False, True], repeat=3)),
)
def test_returns_what_was_asked_for(sequences, state, scores):
    cell = make_cell("gru", order="luong", dtype="float32")
    decoder = AttentionDecoder(cell, sequences, state, scores)
    x, m = samples.sequence("float32"), samples.source("float32")
    shapes = [(BATCH, *[STEPS] * sequences, UNITS + DV)]
    shapes += [(BATCH, STEPS, WORDS)] * scores
    shapes += [(BATCH, UNITS), (BATCH, DV)] * state
    got = decoder(x, m)
    assert isinstance(got, tuple) == (len(shapes) > 1)
    assert [tuple(x.shape) for x in keras.tree.flatten(got)] == shapes
    symbolic = decoder(keras.Input(x.shape[1:]), keras.Input(m.shape[1:]))
    assert isinstance(symbolic, tuple) == (len(shapes) > 1)
    found = [x.shape for x in keras.tree.flatten(symbolic)]
    assert found == [(None, *shape[1:]) for shape in shapes]


@pytest.mark.parametrize("dtype", ["mask", "int32", "float32"])
def test_the_last_real_step_comes_back(dtype):
    decoder = make("gru", order="luong")
    whole = to_numpy(run(decoder)[0])
    decoder.return_sequences = False
    sequence_mask = samples.sequence_mask()
    if dtype != "mask":
        sequence_mask = sequence_mask.astype(dtype)
    last = run(decoder, sequence_mask=sequence_mask)[0]
    assert_close(last, whole[np.arange(BATCH), [3, 1, 2]], 0)
    unmasked = run(decoder, sequence_mask=None)[0]
    decoder.return_sequences = True
    assert_close(unmasked, run(decoder, sequence_mask=None)[0][:, -1], 0)


@pytest.mark.parametrize(
    "policy",
    ["mixed_float16", "float64", "mixed_bfloat16", "float16"],
)
def test_dtype_policy(policy):
    policy = keras.DTypePolicy(policy)
    options = {
        "order": "luong",
        "attention_layer_size": 7,
        # the default cannot be drawn in float16 everywhere
        "own": {"recurrent_initializer": "glorot_uniform"},
    }
    decoder = make("stack", dtype=policy, **options)
    want = run(make("stack", **options))
    atol = {"float64": 0, "bfloat16": 0.1, "float16": 0.02}
    for x, y in zip(
        keras.tree.flatten(run(decoder)), keras.tree.flatten(want), strict=True
    ):
        dtype = keras.backend.standardize_dtype(x.dtype)
        assert dtype == policy.compute_dtype
        assert_close([x], [y], atol[policy.compute_dtype])
    for w in decoder.weights:
        assert w.dtype == policy.variable_dtype


# Config and errors.


def test_needs_a_decoder_cell():
    with pytest.raises(ValueError, match="Wrap a Keras cell"):
        AttentionDecoder(keras.layers.LSTMCell(4))


@pytest.mark.parametrize("built", [False, True])
def test_attention_needs_a_memory(built):
    decoder = make() if built else AttentionDecoder(make_cell())
    with pytest.raises(ValueError, match="encoder's output sequence"):
        decoder(samples.sequence())
    with pytest.raises(ValueError, match="encoder's output sequence"):
        decoder(keras.Input((None, samples.DIM)))


@pytest.mark.parametrize("symbolic", [False, True])
def test_refuses_states_that_do_not_fit(symbolic):
    decoder = make("stack", order="luong")
    given = samples.sequence(), samples.source(), first_states(decoder)[::-1]
    if symbolic:
        given = keras.tree.map_structure(
            lambda x: keras.KerasTensor(x.shape), given
        )
    with pytest.raises(ValueError, match="StateBridge"):
        decoder(*given)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sequence": np.ones((3, 4))}, r"`sequence` of the shape \(B, T, D"),
        ({"sequence_mask": np.array([4, 2, 3])}, "from lengths"),
        (
            {"sequence": np.ones((3, 4, 2))},
            r"`sequence` with the 3 features .*shape=\(3, 4, 2\)",
        ),
        (
            {"sequence": np.ones((3, 4, 7))},
            r"`sequence` with the 3 features .*shape=\(3, 4, 7\)",
        ),
        (
            {"memory": np.ones((2, 5, 6))},
            "`sequence` and `memory` with the same",
        ),
        ({"memory": np.ones((3, 6))}, r"`memory` of the shape \(B, Tv, Dv"),
        ({"memory": np.ones((3, 5, 7))}, "`memory` with the 6 features"),
        (
            {"memory_mask": np.array([5, 2, 1])},
            "`memory_mask` as .*from lengths",
        ),
    ],
)
@pytest.mark.parametrize("symbolic", [False, True])
def test_names_the_shape_that_does_not_fit(change, words, symbolic):
    decoder = AttentionDecoder(samples.make_cell())
    given = {"sequence": np.ones((3, 4, 3)), "memory": np.ones((3, 5, 6))}
    decoder(**given)
    given |= change
    if symbolic:
        given = {k: keras.KerasTensor(x.shape) for k, x in given.items()}
    with pytest.raises(ValueError, match=words):
        decoder(**given)


@pytest.mark.parametrize("more", [-1, 1, DV])
def test_no_feature_is_taken_for_another(more):
    """Cells multiply inputs and context by parts of one kernel."""
    cell = make("gru", LocationAttention(9, dtype="float64")).cell
    with pytest.raises(ValueError, match="`inputs` with"):
        cell.project_inputs(np.ones((BATCH, STEPS, samples.DIM + more)))
    with pytest.raises(ValueError, match="`value` with"):
        cell.prepare(np.ones((BATCH, WORDS, DV + more)))


@pytest.mark.parametrize("order", ["luong", "bahdanau"])
@pytest.mark.parametrize("feeds", [True, False])
def test_parts_may_have_dtypes_of_their_own(order, feeds):
    """Weights come in the dtype of the cell."""
    options = {"input_feeding": feeds} if order == "luong" else {}

    def decode(dtype):
        keras.utils.set_random_seed(0)
        attention = CoverageAttention(3, dtype=dtype)
        if not feeds:
            attention = DotAttention(dtype=dtype)
        cell = keras.layers.GRUCell(6, dtype="float64")
        cell = AttentionDecoderCell(cell, attention, order=order, **options)
        decoder = AttentionDecoder(cell, return_attention_scores=True)
        return decoder(np.ones((2, 3, 4)), np.ones((2, 5, 6)))

    for x, y in zip(decode("bfloat16"), decode("float32"), strict=True):
        assert keras.backend.standardize_dtype(x.dtype) == "float32"
        assert_close([x], [y], 0.02)


@pytest.mark.tensorflow
@pytest.mark.parametrize("unknown", ["sequence", "memory", "both"])
def test_a_graph_may_not_know_the_features(unknown):
    import tensorflow as tf

    decoder = make("gru", order="luong")
    given = {"sequence": samples.sequence(), "memory": samples.source()}
    wanted, *_ = decoder(**given)
    specs = {
        k: tf.TensorSpec(
            (None, None, None if unknown in (k, "both") else x.shape[-1]),
            tf.float64,
        )
        for k, x in given.items()
    }

    @tf.function(autograph=False)
    def graph(sequence, memory):
        return decoder(sequence, memory)[0]

    found = graph.get_concrete_function(**specs)(
        **{k: tf.constant(x) for k, x in given.items()}
    )
    assert_close([found], [wanted])
