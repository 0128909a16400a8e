"""Streams: the words of `generate`, each as soon as it is decided."""

import keras
import numpy as np
import pytest
import seq2seqs
import streams
from gradients import to_numpy
from streaming import measure
from streams import LONGEST
from streams import WORDS
from streams import changed
from streams import draw_ids
from streams import generated
from streams import joined
from streams import make_model
from streams import streamed
from tiers import THOROUGH

import keras_attention as ka
from keras_attention.streaming import stream as module

SOURCE = draw_ids([9, 12, 4])
NO_END = -1e9 * (np.arange(WORDS) == 3)  # a bias of the output layer
PARTS = [[1] * 12, [5, 0, 1, 6]]


@pytest.fixture(scope="module")
def models():
    """Make a model of each kind; the programs of two are compiled."""
    found = {name: make_model(name) for name in streams.MODELS}
    found["features"] = make_model(features=True)
    for name in found.keys() - {"lstm", "no states, window"}:
        uncompiled(found[name])
    return found


def uncompiled(model):
    """Let the steps run eagerly, which costs less than to trace them once."""
    if keras.backend.backend() == "tensorflow":
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "compiled", lambda step, _: step)
            model.stream()
    return model


# The law: whatever the parts, the words of `generate`, as soon as possible.


@pytest.mark.parametrize(
    "name",
    [
        "lstm",
        "layer norm, unfed, both kinds",
        pytest.param("stack, luong, chunkwise", marks=pytest.mark.slow),
        pytest.param("no states, window", marks=pytest.mark.slow),
        pytest.param("chunkwise", marks=THOROUGH),
    ],
)
def test_words_are_those_of_the_whole(models, name):
    wanted, _ = generated(models[name], SOURCE)
    for sizes in PARTS:
        assert joined(streamed(models[name], SOURCE, sizes)) == wanted
    late = np.pad(SOURCE, ((0, 0), (4, 0)))
    late[1] = np.roll(late[1], -4)  # one row begins before the others
    assert joined(streamed(models[name], late, [3, *PARTS[1], 1])) == wanted


def decided_after(weights, window, size):
    """Return how many positions must have come for each word.

    It is one more than there are if only the end decides. Weights `(T, Tv)`
    are of one attention, whose window reaches so far beyond its centre, or
    which stops where they are.
    """
    if window is not None:
        return np.minimum(np.arange(len(weights)) + window + 1, size + 1)
    stops = [
        (np.flatnonzero(row) + 1).tolist() or [size + 1] for row in weights
    ]
    return np.maximum.accumulate([places[-1] for places in stops])


@pytest.mark.parametrize(
    ("name", "window"), [("lstm", None), ("no states, window", 1)]
)
def test_a_word_comes_with_the_position_it_needs(models, name, window):
    size = SOURCE.shape[1]
    words, weights = generated(models[name], SOURCE)
    steps = streamed(models[name], SOURCE, [1] * size)
    early = 0
    for row in range(len(SOURCE)):
        weights_of_words = weights[row, : len(words[row])]
        needed = decided_after(weights_of_words, window, size)
        for n in range(size):
            written = len(joined(steps[: n + 1])[row])
            assert written == np.sum(needed <= n + 1), (row, n)
        early += np.sum(needed <= size)
    assert early > 5


@pytest.mark.slow
def test_rows_go_at_their_own_pace(models):
    """Zeros are padding wherever they stand: a row waits, others go on."""
    late = np.concatenate([np.zeros((1, 5), "int32"), SOURCE[1:2, :7]], axis=1)
    both = np.concatenate([SOURCE[:1], late])
    words = joined(streamed(models["lstm"], both, [3, 3, 6]))
    assert words[0] == joined(streamed(models["lstm"], SOURCE[:1], [12]))[0]
    early = SOURCE[1:2, :7]
    assert words[1] == joined(streamed(models["lstm"], early, [7]))[0]
    stream = models["lstm"].stream(2, batch_size=3)
    stream.push(SOURCE)
    stream.end()
    assert stream.finished == [True, True, True]


# Ends.


def test_a_source_of_nothing_has_an_end(models):
    empty = np.zeros((1, 1), "int32")
    wanted, _ = generated(models["lstm"], empty)
    stream = models["lstm"].stream(LONGEST)
    assert stream.end() == wanted
    assert joined(streamed(models["lstm"], empty, [1])) == wanted


@pytest.mark.slow
def test_the_longest_text_is_not_exceeded(models):
    for longest in (1, 3, 40):  # more than are written at once
        wanted, _ = generated(models["lstm"], SOURCE, longest)
        found = streamed(models["lstm"], SOURCE, [6, 6], longest)
        assert joined(found) == wanted
        assert max(map(len, wanted)) <= longest


def bias(model):
    return model.decoder.cell.attention.aligner.score_bias


def test_what_never_stops_waits_for_the_end(models):
    model = models["lstm"]
    with changed(bias(model), -1e9):
        wanted, weights = generated(model, SOURCE)
        *steps, last = streamed(model, SOURCE, [6, 6])
    assert not any(joined(steps))
    assert last == wanted
    assert not weights.any()


def test_many_words_may_stop_at_one_position(models):
    model = models["lstm"]
    with (
        changed(bias(model), 1e9),
        changed(model.output_layer.bias, NO_END),
    ):
        stream = model.stream(2 * module.ROOM + 1)
        (words,) = stream.push(SOURCE[:1, :1])
    assert len(words) == 2 * module.ROOM + 1
    assert stream.finished == [True]


@pytest.mark.slow
@pytest.mark.usefixtures("without_graphs")
def test_features_and_their_masks(models):
    model = models["features"]
    draw = np.random.default_rng(0)
    source = draw.normal(size=(2, 9, streams.FEATURES)).astype("float32")
    wanted, _ = generated(model, source)
    assert joined(streamed(model, source, [4, 5])) == wanted
    mask = np.ones((2, 9), bool)
    mask[0, 5:] = mask[1, 2:4] = False
    short, _ = generated(model, source[:1, :5])
    gap, _ = generated(model, np.delete(source[1:], [2, 3], axis=1))
    found = joined(streamed(model, source, [3, 6], masks=mask))
    assert found == [*short, *gap]


# What it costs.


@pytest.mark.slow
def test_what_is_kept_does_not_grow(models):
    model, sizes = models["no states, window"], []
    ids = draw_ids([200], seed=5)
    with changed(model.output_layer.bias, NO_END):
        stream, words = model.stream(10**6), 0
        for first in range(0, 200, 20):
            words += len(stream.push(ids[:, first : first + 20])[0])
            sizes.append(stream.state.mask.shape[1])
    assert words == 199  # a window of 1 moves on by a position a word
    assert max(sizes) <= 6
    assert to_numpy(stream.state.count).tolist() == [200]


def test_a_chunk_before_the_next_stop_is_kept(models):
    model = models["chunkwise"]
    with changed(bias(model), -1e9):
        stream = model.stream()
        assert stream.push(SOURCE[1:2, :6]) == [[]]
    assert stream.state.mask.shape[1] == 3  # with the stop a chunk of 4


def test_few_sizes_are_kept(models):
    """Each of them is a program where XLA compiles."""
    model, sizes = models["layer norm, unfed, both kinds"], []
    _, attention = model.decoder.cell.attentions
    with changed(attention.aligner.score_bias, -1e9):
        stream = model.stream(2)
        for n in range(10):
            assert stream.push(SOURCE[1:2, n : n + 1]) == [[]]
            sizes.append(stream.state.mask.shape[1])
        stream.end()
    assert sizes == [1, 2, 3, 4, 6, 6, 8, 8, 12, 12]
    assert stream.finished == [True]
    assert stream.state.mask.shape[1] == 1


def test_large_parts_are_read_in_small_ones(models):
    program = models["lstm"].stream()._program
    for size in (0, 1, 63, 64, 200):
        parts = list(program.parts(size))
        sizes = [part.stop - part.start for part in parts]
        assert sum(sizes) == size
        assert max(sizes, default=0) <= module.LARGEST
    program.few_sizes = True
    sizes = [part.stop - part.start for part in program.parts(103)]
    assert sizes == [64, 32, 4, 2, 1]


def test_streams_share_programs(models):
    model = models["lstm"]
    one, other = model.stream(5), model.stream(50, batch_size=2)
    assert one._program is other._program
    assert one.state is not model.stream(5).state
    assert one.finished == [False]
    assert model.stream(start_id=1)._program is not one._program
    assert one.push(SOURCE[:1]) == model.stream(5).push(SOURCE[:1])


# What is refused.


IDS, FRAMES = np.ones((1, 2), "int32"), np.ones((1, 2, streams.FEATURES))


@pytest.mark.parametrize(
    ("name", "chunk", "mask", "said"),
    [
        ("lstm", IDS[..., None], None, "needs a chunk of shape"),
        ("lstm", np.ones((2, 2), "int32"), None, "batch_size=B"),
        ("lstm", 8 * IDS, None, "integer ids from 0 to 7"),
        ("lstm", -IDS, None, "from -1 to -1"),
        ("lstm", IDS / 2, None, "Received: float"),
        ("lstm", IDS, np.ones((1, 2)), "id 0 is padding"),
        ("features", FRAMES[..., :2], None, r"\(B, n, D\), here \(1, n, 3\)"),
        ("features", FRAMES, np.ones((1, 3)), r"mask\.shape=\(1, 3\)"),
    ],
)
def test_parts_that_do_not_fit(models, name, chunk, mask, said):
    stream = models[name].stream()
    before = stream.state
    with pytest.raises(ValueError, match=said):
        stream.push(chunk, mask)
    assert stream.state is before


def test_nothing_comes_after_the_end(models):
    stream = models["lstm"].stream()
    stream.end()
    for step in (stream.end, lambda: stream.push(SOURCE[:1])):
        with pytest.raises(ValueError, match="Create a new stream"):
            step()


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_length": 0},
        {"max_length": 10**12},
        {"batch_size": 0},
        {"start_id": -1},
        {"start_id": 99},
        {"end_id": 0.5},
        {"end_id": 99},
    ],
)
def test_wrong_numbers(models, wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        models["lstm"].stream(**wrong)


def test_a_model_without_weights_says_how_to_get_them():
    with pytest.raises(ValueError, match=r"model\.build"):
        seq2seqs.make_model().stream()


# One line from soft to hard.


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["parallel", "recursive"])
def test_a_trained_model_becomes_hard(models, mode):
    hard, soft = models["lstm"], make_model()
    program = uncompiled(soft).stream()._program
    assert soft.harden() == []
    assert soft.stream()._program is program
    attention, version = soft.decoder.cell.attention, soft.version
    attention.aligner.mode = mode
    words, _ = generated(soft, SOURCE)  # compiled with the soft mode
    soft.train_function = "compiled with it as well"
    assert soft.harden() == [
        f"{attention.name}: Monotonic: changed mode='{mode}' to mode='hard'"
    ]
    assert soft.version == version + 1
    assert soft.train_function is None
    wanted, _ = generated(hard, SOURCE)
    assert words != wanted
    assert generated(soft, SOURCE)[0] == wanted
    assert joined(streamed(uncompiled(soft), SOURCE, [12])) == wanted
    assert soft.stream()._program is not program
    again = ka.Seq2Seq.from_config(soft.get_config())
    assert again.decoder.cell.attention.aligner.mode == "hard"


HALVES = slice(1, 5), slice(5, 10)  # of ten


@pytest.mark.thorough
@pytest.mark.tensorflow
def test_a_position_costs_the_same_after_100000():
    tenths = measure(positions=100_000, chunk=250, units=8)
    print(*tenths, sep="\n")
    assert 9000 < tenths[-1].words < 12_000
    early, late = ([x.microseconds for x in tenths[k]] for k in HALVES)
    assert min(late) < 1.5 * max(early)
    assert max(x.positions for x in tenths) == 8  # a chunk
    assert max(x.bytes for x in tenths) < 2000
