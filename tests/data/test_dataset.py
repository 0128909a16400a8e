import warnings
from types import SimpleNamespace

import keras
import numpy as np
import pytest
from tiers import some

from keras_attention.data.dataset import BatchSequence
from keras_attention.data.dataset import parallel_dataset
from keras_attention.text import CharacterTokenizer
from keras_attention.text import ParallelTokenizer

DIGITS = CharacterTokenizer("0123456789-")
PAIRS = 103


@pytest.fixture
def files(tmp_path):
    """Write pairs such as `7---` and `7-`, of many lengths."""
    draw = np.random.default_rng(0)
    lengths = draw.integers(1, 60, size=(PAIRS, 2))
    sides = [
        [f"{n}{'-' * length}" for n, length in enumerate(column)]
        for column in lengths.T
    ]
    paths = tmp_path / "train.a", tmp_path / "train.b"
    for path, lines in zip(paths, sides, strict=True):
        path.write_text("\n".join(lines) + "\n")
    return paths


def batches(files, batch_size=8, **options):
    return parallel_dataset(*files, DIGITS, DIGITS, batch_size, **options)


def pairs(dataset):
    """Every pair of one epoch, as strings."""
    found = []
    for (source, inputs), labels in dataset:
        sources = DIGITS.detokenize(source).numpy().tolist()
        targets = DIGITS.detokenize(labels).numpy().tolist()
        assert targets == DIGITS.detokenize(inputs).numpy().tolist()
        found += zip(sources, targets, strict=True)
    return found


def lines_of(files):
    lines = [path.read_bytes().splitlines() for path in files]
    return list(zip(*lines, strict=True))


def write(files, *sides):
    for path, lines in zip(files, sides, strict=True):
        path.write_text("\n".join(lines) + "\n")


def test_batches_teach_the_next_word(files):
    write(files, ["12", "3"], ["4", "567"])
    dataset = batches(files, buckets=1)
    assert dataset.options().autotune.enabled is False  # may take a minute
    [((source, inputs), labels)] = dataset
    assert source.dtype == inputs.dtype == labels.dtype == "int32"
    assert source.numpy().tolist() == [[2, 5, 6, 3], [2, 7, 3, 0]]
    assert inputs.numpy().tolist() == [[2, 8, 3, 0], [2, 9, 10, 11]]
    assert labels.numpy().tolist() == [[8, 3, 0, 0], [9, 10, 11, 3]]


@pytest.mark.parametrize("kind", [list, tuple, np.array, iter])
def test_sentences_in_memory_are_as_those_of_files(files, kind):
    texts = [file.read_text().splitlines() for file in files]
    wanted = batches(files, training=True, seed=1)
    given = [kind(text) for text in texts]
    assert pairs(batches(given, training=True, seed=1)) == pairs(wanted)
    mixed = batches([[files[0]], texts[1]], training=True, seed=1)
    assert pairs(mixed) == pairs(batches(files, training=True, seed=1))


@pytest.mark.slow
def test_a_seed_gives_the_same_row_of_epochs(files):
    first, second, other, *unseeded = (
        batches(files, training=True, seed=seed)
        for seed in (1, 1, 2, None, None)
    )
    epochs = [pairs(first), pairs(first)]
    assert epochs[0] != epochs[1]
    assert epochs == [pairs(second), pairs(second)]
    assert pairs(other) not in epochs
    assert pairs(unseeded[0]) != pairs(unseeded[1])


def test_long_and_empty_pairs_are_dropped_and_counted(files):
    sources = ["1", "", "3", "4" * 9, "5", "6"]
    write(files, sources, ["1", "2", "\t", "4", "", "6" * 8])
    with pytest.warns(UserWarning, match=r"4 of 6.*: 1 .*=10.*, 3") as w:
        dataset = batches(files, max_length=10)
    assert w[0].filename == __file__  # not the package's
    assert dataset.dropped == {"too_long": 1, "empty": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset = batches(2 * [["12"]], max_length=4)
    assert dataset.dropped == {"too_long": 0, "empty": 0}


def test_max_length_counts_start_and_end(files):
    write(files, ["12345678", "1"], ["1", "12345678"])
    assert len(pairs(batches(files, max_length=10))) == 2
    too_few = pytest.raises(ValueError, match="raise `max_length`")
    with pytest.warns(UserWarning, match="2 of 2"), too_few:
        batches(files, max_length=9)


def test_too_few_pairs_for_a_batch_is_an_error(files):
    with pytest.raises(ValueError, match="batch_size=104, and 103 pairs"):
        batches(files, PAIRS + 1, training=True)
    assert len(batches(files, PAIRS + 1)) == 1
    says = "batch_size=52 in each of 2 processes, and 103 pairs"
    with pytest.raises(ValueError, match=says):
        batches(files, 52, training=True, shard=(0, 2))


@pytest.mark.parametrize(
    "wrong",
    [("batch_size", 2.5), ("buckets", 0), ("max_length", 2), ("seed", -1)],
)
def test_wrong_numbers_are_named(files, wrong):
    with pytest.raises(ValueError, match=wrong[0]):
        batches(files, **dict([wrong]))


@pytest.mark.parametrize("side", ["source", "target"])
def test_what_is_no_tokenizer_is_named(side):
    digits = CharacterTokenizer("0123456789")
    sides = {"source_tokenizer": digits, "target_tokenizer": digits}
    sides[f"{side}_tokenizer"] = CharacterTokenizer
    with pytest.raises(ValueError, match=f"`{side}_tokenizer` .*the class Cha"):
        parallel_dataset(["1"], ["2"], **sides, batch_size=1)


@pytest.mark.parametrize("side", ["source", "target"])
def test_several_tokenizers_of_a_side_are_refused(side):
    digits = CharacterTokenizer("0123456789")
    sides = {"source_tokenizer": digits, "target_tokenizer": digits}
    sides[f"{side}_tokenizer"] = ParallelTokenizer([digits, digits])
    with pytest.raises(
        ValueError, match=f"single `{side}_tokenizer`.*Parallel"
    ):
        parallel_dataset(["1"], ["2"], **sides, batch_size=1)


@pytest.mark.slow
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("count", some([3, 2], 1))
def test_shards_are_parts_of_the_batches_of_one_process(files, training, count):
    options = {"training": training, "seed": 5, "buckets": 3}
    whole = batches(files, 4 * count, **options)
    shards = [
        batches(files, 4, shard=(n, count), **options) for n in range(count)
    ]
    for _ in range(2):  # epochs
        found = sorted(pair for shard in shards for pair in pairs(shard))
        assert found == sorted(pairs(whole))
        assert {len(shard) for shard in shards} == {len(whole)}
    if not training:
        assert found == sorted(lines_of(files))


@pytest.mark.slow
def test_shards_take_steps_of_one_shape(files):
    """Also those of the last batch, of which one shard may have nothing."""
    for more in ({"training": True, "seed": 1}, {}):
        shards = (batches(files, 2, shard=(n, 3), **more) for n in range(3))
        shapes = [
            [(x.shape[1], labels.shape[1]) for (x, _), labels in shard]
            for shard in shards
        ]
        assert shapes[0] == shapes[1] == shapes[2]
        assert len(set(shapes[0])) > 2
    rows = [
        [labels.shape[0] for _, labels in batches(files, 17, shard=(n, 3))]
        for n in range(3)
    ]
    assert rows == [[17, 17, 1], [17, 17, 0], [17, 17, 0]]


def test_unseeded_shards_agree(files):
    one, two = (
        batches(files, 4, training=True, shard=(n, 2)) for n in range(2)
    )
    found = pairs(one) + pairs(two)
    assert len(found) == len(set(found)) == PAIRS // 8 * 8


@pytest.mark.parametrize(
    ("shard", "says"),
    [
        *((3, "must be a pair"), ((1, 2, 3), "must be a pair")),
        ((2, 2), r"`shard\[0\]` must be an integer of at most 1"),
        ((-1, 2), r"`shard\[0\]`"),
        ((0, 0), r"`shard\[1\]`"),
    ],
)
def test_wrong_shards_are_refused(files, shard, says):
    with pytest.raises(ValueError, match=says):
        batches(files, shard=shard)


def test_devices_of_a_distribution_get_equally_many_rows(files, monkeypatch):
    """The last batch has rows of padding, and no pair is there twice."""
    monkeypatch.setattr(keras.distribution, "distribution", object)
    shards = [batches(files, 8, shard=(n, 2)) for n in range(2)]
    for shard in shards:
        assert all(labels.shape[0] == 8 for _, labels in shard)
        assert shard.element_spec[1].shape[0] == 8
    found = pairs(shards[0]) + pairs(shards[1])
    real = [pair for pair in found if pair != (b"", b"")]
    assert sorted(real) == sorted(lines_of(files))


def test_limited_batches_have_a_row_for_each_device(files, monkeypatch):
    """Of four devices, of two processes."""

    class Distribution:
        batch_dim_name = "batch"
        device_mesh = SimpleNamespace(axis_names=["batch", "x"], shape=(4, 2))

    monkeypatch.setattr(keras.distribution, "distribution", Distribution)
    for tokens, counts in ((1, {2}), (10**4, {8}), (250, {2, 4, 6, 8})):
        limit = {"max_tokens": tokens}
        shards = [batches(files, 8, shard=(n, 2), **limit) for n in range(2)]
        for shard in shards:
            found = {len(labels) for _, labels in shard}
            assert found <= counts
            assert found > {2, 4} or len(counts) == 1
        found = pairs(shards[0]) + pairs(shards[1])
        real = [pair for pair in found if pair != (b"", b"")]
        assert sorted(real) == sorted(lines_of(files))


def test_limited_batches_resume(files):
    """A dataset with another limit is another one, if it changes batches."""
    known = {
        tokens: batches(
            files, training=True, seed=0, max_tokens=tokens
        ).position.content
        for tokens in (None, 10**4, 30, 20)
    }
    assert known[None] == known[10**4]
    assert len({*known.values()}) == 3
    dataset = batches(files, training=True, seed=0, max_tokens=20)
    assert len(dataset) == len([*dataset])
    with pytest.raises(ValueError, match="`max_tokens` must be"):
        batches(files, 8, max_tokens=0)


# Where TensorFlow is not installed.


class Epochs:
    """Epochs of four batches: tens say which epoch."""

    def __init__(self):
        self.count = 0

    def __len__(self):
        return 4

    def __call__(self):
        self.count += 1
        yield from range(10 * self.count, 10 * self.count + 4)


def read(sequence, *indices):
    """What Keras does in an epoch of `fit` or `evaluate`."""
    sequence.on_epoch_begin()
    found = [sequence[i] for i in indices]
    sequence.on_epoch_end()
    return found


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1)])
def test_the_order_is_that_of_the_epoch(order):
    sequence = BatchSequence(Epochs())
    assert len(sequence) == sequence.num_batches == 4
    assert read(sequence, *order) == [10, 11, 12, 13]
    assert read(sequence, order[0]) == [20]  # a first look costs an epoch,
    assert read(sequence, *order) == [30, 31, 32, 33]  # as of `tf.data`
    assert [*sequence] == [40, 41, 42, 43]


def test_short_epochs_of_fit_go_on():
    """With `steps_per_epoch=3` it asks for the next numbers."""
    sequence = BatchSequence(Epochs())
    assert read(sequence, 0, 1, 2) == [10, 11, 12]
    assert read(sequence, 3, 0, 1) == [13, 20, 21]


def test_an_epoch_that_was_left_does_not_go_on():
    sequence = BatchSequence(Epochs())
    sequence.on_epoch_begin()  # and `stop_training` after two batches
    assert [sequence[2], sequence[0]] == [10, 11]
    assert read(sequence, 3, 1, 0, 2) == [20, 21, 22, 23]
