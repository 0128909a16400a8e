"""HardAttention: brute force over all alignments, and what is searched."""

import itertools

import keras
import numpy as np
import pytest
from generations import assert_same
from gradients import differentiate
from gradients import kept_by_torch
from keras import ops
from ready import EAGER
from ready import dtype_policy
from samples import assert_close
from samples import draw
from samples import to_numpy
from seq2seqs import SOURCE
from seq2seqs import TARGET
from seq2seqs import WORDS
from seq2seqs import small_model
from tiers import SLOW
from tiers import some

import keras_attention as ka
from keras_attention.ops.alignments import log_mixture
from keras_attention.ops.tokens import fused

pytestmark = pytest.mark.usefixtures("without_graphs")

# Elsewhere, Keras' own layers compute float64 in float32.
STEP = 1e-5 if keras.backend.backend() == "tensorflow" else 1e-3
KINDS = {"order 0": (0,), "order 1": (1,), "monotonic": (1, True)}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
one_kind = pytest.mark.parametrize(  # the others in more time
    "kind",
    [
        pytest.param(kind, id=name, marks=[pytest.mark.slow] * (len(kind) < 2))
        for name, kind in KINDS.items()
    ],
)
# In front, behind, and in a hole.
GAPS = np.array([[0, 5, 6, 3], [4, 8, 3, 0], [7, 0, 4, 0]])
WHOLE = np.array([[2, 5, 6, 3], [2, 4, 3, 0], [2, 7, 8, 3]])


def make(kind, attention=None, **options):
    attention = attention or ka.LuongGeneral()
    output = ka.HardAttention(attention, 3, *kind)
    return small_model(None, output=output, **options)


def exact(kind, attention=None):
    with dtype_policy("float64"):
        return make(kind, attention)


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def logsumexp(x):
    top = x.max(-1, keepdims=True)
    return np.log(np.exp(x - top).sum(-1)) + top[..., 0]


def paths(outputs, memory, source, words, kind, weights):
    """Return each alignment of a row, and its joint probability."""
    kernel, bias, word_kernel, word_bias, offsets = weights
    order, monotonic = (*kind, False)[:2]
    places = np.flatnonzero(source)
    said = [
        [
            softmax(np.tanh(np.append(s, h) @ kernel) @ word_kernel + word_bias)
            for h in memory
        ]
        for s in outputs
    ]
    scores, found = outputs @ bias @ memory.T, {}
    for path in itertools.product(places, repeat=len(words)):
        p, before = 1.0, places[0]
        for t, (j, word) in enumerate(zip(path, words, strict=True)):
            to = [k for k in places if k >= before or not monotonic]
            move = [
                offsets[np.clip(k - before, -9, 9) + 9] if order else 0.0
                for k in to
            ]
            chosen = dict(zip(to, softmax(scores[t, to] + move), strict=True))
            p *= chosen.get(j, 0.0) * said[t][j][word]
            before = j
        found[path] = p
    return found


def brute_force(model, source, target, kind, training=True):
    """Return the log probability and the posteriors of each row."""
    # In inference the encoder is Keras' layer, which rounds float64 on torch.
    memory, states, _ = model.encode(source, training=training)
    inputs = target[:, :-1]
    outputs = model.decoder(
        model.embed_target(inputs),
        initial_state=states,
        sequence_mask=inputs != 0,
    )
    outputs, memory = to_numpy(outputs), to_numpy(memory)
    weights = to_numpy([x.value for x in watched(model)])
    logs, posteriors = [], np.zeros((*target[:, 1:].shape, source.shape[1]))
    for n, words in enumerate(target[:, 1:]):
        real = words[words != 0]
        found = paths(
            outputs[n, : len(real)], memory[n], source[n], real, kind, weights
        )
        total = sum(found.values())
        logs.append(np.log(total))
        for path, p in found.items():
            posteriors[n, range(len(real)), path] += p / total
    return np.array(logs), posteriors


def watched(model):
    part = model.readout
    found = [part.kernel, part.attention.kernel]
    found += [part.output_kernel, part.output_bias]
    return [*found, part.offset_bias if part.order else part.output_bias]


def log_likelihood(model, source, target):
    log_probs = model((source, target[:, :-1]), training=True)
    words = ops.one_hot(target[:, 1:], WORDS, dtype=log_probs.dtype)
    real = ops.cast(target[:, 1:, None] != 0, log_probs.dtype)
    return ops.sum(log_probs * words * real, axis=(1, 2))


@every_kind
def test_it_is_the_sum_over_all_alignments(kind):
    model = exact(kind)
    want, _ = brute_force(model, GAPS, WHOLE, kind)
    assert_close(log_likelihood(model, GAPS, WHOLE), want, 1e-10)
    loss = ka.SequenceCrossentropy()
    log_probs = model((GAPS, WHOLE[:, :-1]))
    mean = -want.sum() / (WHOLE[:, 1:] != 0).sum()
    assert_close(loss(WHOLE[:, 1:], log_probs), np.array(mean), 1e-6)
    _, posteriors = brute_force(model, GAPS, WHOLE, kind, training=False)
    assert_close(model.readout.align(model, GAPS, WHOLE), posteriors, 1e-10)


@one_kind
def test_gradients_of_all_weights_are_slopes(kind):
    model = exact(kind)
    variables = model.trainable_variables

    def total():
        return ops.sum(log_likelihood(model, GAPS, WHOLE))

    _, found = differentiate(lambda: total(), [], variables)
    normal = np.random.default_rng(0).normal
    ways = [normal(size=x.shape) for x in variables]
    ways = [x / np.linalg.norm(x) for x in ways]
    starts = [to_numpy(x.value) for x in variables]
    # Those of the part one by one, and all others at once.
    own = [
        [i]
        for i, x in enumerate(variables)
        if any(x is y for y in watched(model))
    ]
    rest = [i for i in range(len(variables)) if [i] not in own]
    assert len(own) == 4 + kind[0]
    for chosen in (*own, rest):
        sides = []
        for step in (STEP, -STEP):
            for i in chosen:
                variables[i].assign(starts[i] + step * ways[i])
            want, _ = brute_force(model, GAPS, WHOLE, kind)
            sides.append(want.sum())
        for i in chosen:
            variables[i].assign(starts[i])
        slope = (sides[0] - sides[1]) / (2 * STEP)
        given = sum(np.sum(found[i] * ways[i]) for i in chosen)
        np.testing.assert_allclose(given, slope, rtol=STEP, atol=STEP)


@every_kind
def test_the_loop_of_training_is_the_plain_one(kind):
    model = make(kind, ka.BahdanauAttention(4))
    plain = model((SOURCE, TARGET), training=False)
    assert_close(model((SOURCE, TARGET), training=True), plain, 1e-5)
    log_probs = to_numpy(plain)
    np.testing.assert_allclose(np.exp(log_probs).sum(-1), 1.0, atol=1e-5)


def test_words_of_hardly_any_probability_keep_their_digits():
    scores, priors = 100 * draw(2, 1, 3, 7), draw(2, 1, 3, seed=1)
    priors = priors - logsumexp(priors)[..., None]
    norms = logsumexp(scores)
    each = scores + (priors - norms)[..., None]
    want = logsumexp(np.swapaxes(each, 2, 3))
    assert want.min() < -100
    cast = [x.astype("float32") for x in (scores, priors)]
    _, slopes = differentiate(lambda *x: ops.sum(log_mixture(*x)[0]), cast)
    found = log_mixture(*map(ops.convert_to_tensor, cast))
    np.testing.assert_allclose(to_numpy(found[0]), want, rtol=1e-4)
    np.testing.assert_allclose(to_numpy(found[1]), norms, rtol=1e-5)
    # Of each word: how far its score raises it, less how far it raises norms.
    shares = np.exp(each - want[:, :, None])
    slope = shares - np.exp(scores - norms[..., None]) * shares.sum(
        -1, keepdims=True
    )
    np.testing.assert_allclose(slopes[0], slope, atol=1e-3)


def test_blocks_of_rows_give_what_all_give_at_once():
    model = make((1, True), words=1100)  # a large vocabulary
    variables = model.trainable_variables
    log_probs = model((SOURCE, TARGET), training=True)

    def total():
        log_probs = model((SOURCE, TARGET), training=True)
        return ops.sum(log_probs[..., 5])

    _, found = differentiate(total, [], variables)
    with fused(True):
        assert_close(log_probs, model((SOURCE, TARGET), training=True), 1e-6)
        _, want = differentiate(total, [], variables)
    for x, y in zip(found, want, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-5)


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="its autograd")
@every_kind
def test_the_gradient_keeps_no_table_of_words(kind):
    model = make(kind)
    _, kept = kept_by_torch(lambda: model((SOURCE, TARGET), training=True))
    assert kept
    tables = {x for x in kept if len(x) > 3 and x[-1] == WORDS}
    assert not tables


@one_kind
def test_padding_changes_nothing(kind):
    model = make(kind)
    want = model((SOURCE, TARGET))
    places = to_numpy(model.attend(SOURCE, TARGET)[0])
    for sides in ((0, 3), (2, 0)):
        padded = np.pad(SOURCE, ((0, 0), sides))
        if sides[0] == 0:  # in front it moves the encoder's reading, too
            assert_close(model((padded, TARGET)), want, 1e-5)
        found = to_numpy(model.attend(padded, TARGET)[0])
        assert (found[:, :, : sides[0]] == 0).all()
        found = found[:, :, sides[0] : sides[0] + SOURCE.shape[1]]
        np.testing.assert_allclose(found, places, atol=1e-5)
    behind = np.pad(TARGET, ((0, 0), (0, 2)))
    real = (TARGET != 0)[..., None]
    found = to_numpy(model((SOURCE, behind)))[:, : TARGET.shape[1]]
    np.testing.assert_allclose(found * real, to_numpy(want) * real, atol=1e-5)
    front = np.pad(TARGET, ((0, 0), (2, 0)))
    found = to_numpy(model((SOURCE, front)))[:, 2:]
    np.testing.assert_allclose(found * real, to_numpy(want) * real, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ((0,), "mixed_float16"),
        ((1,), "float32"),
        ((1, True), "mixed_float16"),
    ],
)
def test_an_empty_source_is_read_as_zeros(kind, dtype):
    with dtype_policy(dtype):
        model = make(kind)
    source = SOURCE.copy()
    source[1] = 0
    variables = model.trainable_variables

    def total():
        return ops.sum(log_likelihood(model, source, TARGET))

    value, found = differentiate(lambda: total(), [], variables)
    assert np.isfinite(value)
    assert all(np.isfinite(x).all() for x in found)
    log_probs = to_numpy(model((source, TARGET)))
    weights = model.attend(source, TARGET)
    np.testing.assert_allclose(np.exp(log_probs).sum(-1), 1.0, atol=1e-3)
    assert (to_numpy(weights[0])[1] == 0).all()


@pytest.mark.parametrize("sure", [(-np.inf, 0.5), (0.5, np.inf), (-1e9, 1e9)])
def test_infinite_offsets_go_strictly_from_left_to_right(sure):
    model = make((1,))
    bias = np.full(19, sure[0])
    bias[10] = sure[1]
    model.readout.offset_bias.assign(bias)
    source, target = np.array([[5, 6, 7, 8, 4, 3]]), np.array([[2, 5, 6, 7]])
    weights = to_numpy(model.attend(source, target)[0])
    np.testing.assert_allclose(weights[0], np.eye(4, 6, 1), atol=1e-6)
    assert np.isfinite(to_numpy(model((source, target)))).all()


@one_kind
def test_one_beam_is_greedy_and_greedy_is_teacher_forcing(kind):
    model = make(kind)
    greedy = model.generate(SOURCE, ka.GreedySearch(max_length=6))
    beam = model.generate(SOURCE, ka.BeamSearch(1, max_length=6))
    assert_same(beam, greedy)
    beams = model.generate(SOURCE, ka.BeamSearch(3, n_best=3, max_length=6))
    for found in (greedy, beams):
        for n in range(found.tokens.shape[1]):
            tokens = to_numpy(found.tokens)[:, n]
            fed = np.pad(tokens[:, :-1], ((0, 0), (1, 0)), constant_values=2)
            taken = np.take_along_axis(
                to_numpy(model((SOURCE, fed))), tokens[..., None], -1
            )[..., 0]
            want = (taken * (tokens != 0)).sum(axis=1)
            scores = to_numpy(found.scores)[:, n]
            np.testing.assert_allclose(scores, want, atol=1e-4)
            weights = to_numpy(model.attend(SOURCE, fed)[0])
            real = (tokens != 0)[..., None]
            assert_close(found.weights[:, n], weights * real, 1e-5)


SCORES = {
    "additive": lambda: ka.BahdanauAttention(4, normalize=True),
    "cosine": lambda: ka.CosineAttention(beta=3.0),
    "kernel": ka.KernelAttention,
    "location": lambda: ka.LocationAttention(max_length=3),
    "dot": lambda: ka.DotAttention("sqrt"),
}


@pytest.mark.parametrize("score", some(SCORES, 3, SLOW))
def test_any_score_of_a_query_and_a_key_is_taken(score):
    model = make((1, True), SCORES[score]())
    greedy = model.generate(SOURCE, ka.GreedySearch(max_length=4))
    fed = np.pad(
        to_numpy(greedy.tokens)[:, 0, :-1], ((0, 0), (1, 0)), constant_values=2
    )
    again = to_numpy(model((SOURCE, fed), training=True))
    again[..., [0, 2]] = -np.inf  # which are never generated
    again = again.argmax(-1)
    tokens = to_numpy(greedy.tokens)[:, 0]
    assert ((again == tokens) | (tokens == 0)).all()


REFUSED = {
    "earlier weights": lambda: ka.CoverageAttention(4),
    "not a softmax of": lambda: ka.GaussianMixtureAttention(2),
    "not a softmax": lambda: ka.LuongGeneral(alignment="sparsemax"),
    "dropout=0.1": lambda: ka.LuongGeneral(dropout=0.1),
}


@pytest.mark.parametrize("said", REFUSED)
def test_other_attentions_are_refused_with_the_reason(said):
    with pytest.raises(ValueError, match=f"(?s)Received.*{said}.*Try Luong"):
        ka.HardAttention(REFUSED[said](), 4)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="`order` must be one of"):
        ka.HardAttention(ka.LuongGeneral(), 4, order=2)
    with pytest.raises(ValueError, match="Set order=1"):
        ka.HardAttention(ka.LuongGeneral(), 4, monotonic=True)
    with pytest.raises(ValueError, match="`attention` must be an instance"):
        ka.HardAttention("general", 4)
    alone = ka.HardAttention(ka.LuongGeneral(), 4)
    with pytest.raises(ValueError, match="Seq2Seq"):
        alone.build((None, None, 3), (None, None, 3), (None, None, 3))
    with pytest.raises(ValueError, match="all later positions"):
        make((1, True)).readout.check_stream()


@pytest.mark.slow
@every_kind
def test_it_trains_and_comes_back(kind, tmp_path):
    model = make(kind, dropout=0.1)
    model.compile("sgd", loss=ka.SequenceCrossentropy(), **EAGER)
    before = to_numpy([x.value for x in model.readout.weights])
    model.fit((SOURCE, TARGET[:, :-1]), TARGET[:, 1:], verbose=0)
    for x, y in zip(before, model.readout.weights, strict=True):
        assert np.abs(x - to_numpy(y.value)).max() > 0
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert_close(again((SOURCE, TARGET)), model((SOURCE, TARGET)), 0)


@pytest.mark.slow
@pytest.mark.tensorflow
def test_a_translator_shows_where_it_reads_and_comes_back(tmp_path):
    """Of each text, alone and in a batch."""
    digits = ka.CharacterTokenizer("01234", "identity")
    search = ka.BeamSearch(3, n_best=2, max_length=5)
    translator = ka.Translator(make((1, True)), digits, digits, search)
    sources = ["2", "1234", "403", "42"]
    told = translator(sources, return_attention_scores=True)
    for weights in told.attention:
        for one in weights:
            np.testing.assert_allclose(one.sum(axis=-1), 1, atol=1e-5)
    assert [translator([x])[0] for x in sources] == told.texts
    translator.save(tmp_path / "translator")
    assert ka.Translator.load(tmp_path / "translator")(sources) == told.texts
