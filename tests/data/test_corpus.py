"""corpus: the same ids in memory and in a cache; nothing false in either."""

import shutil

import numpy as np
import pytest

from keras_attention import steps
from keras_attention.data.cache import Cache
from keras_attention.data.corpus import read_corpus
from keras_attention.data.dataset import parallel_dataset
from keras_attention.data.encode import PairEncoder
from keras_attention.steps.primitives import Pieces
from keras_attention.text import AbstractTokenizer
from keras_attention.text import CharacterTokenizer
from keras_attention.text import SentencePieceTokenizer
from keras_attention.text import WordTokenizer

DIGITS = CharacterTokenizer("0123456789")
LINES = [str(7919 * n % 10 ** (1 + n % 9)) for n in range(40)]


@pytest.fixture
def files(tmp_path):
    paths = tmp_path / "train.a", tmp_path / "train.b"
    paths[0].write_text("\n".join(LINES) + "\n")
    paths[1].write_text("\n".join(reversed(LINES)) + "\n")
    return paths


def batches(files, tokenizers=(DIGITS, DIGITS), epochs=2, **options):
    dataset = parallel_dataset(*files, *tokenizers, 4, **options)
    dropped = dataset.dropped["too_long"]
    assert (dropped > 0) == ("max_length" in options)
    return [
        [x.numpy().tolist() for x in (*inputs, labels)]
        for _ in range(epochs)
        for inputs, labels in dataset
    ]


def folders(cache):
    return [x for x in cache.iterdir() if (x / "corpus.json").exists()]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"training": True, "seed": 3},
        {"training": True, "seed": 3, "shard": (1, 2), "buckets": 2},
        {"max_length": 6},
    ],
)
@pytest.mark.filterwarnings("ignore:parallel_dataset drops")
def test_a_cache_gives_the_same_batches(files, tmp_path, options, monkeypatch):
    wanted = batches(files, **options)
    cache = tmp_path / "new" / "cache"
    assert batches(files, cache=cache, **options) == wanted
    monkeypatch.setattr(CharacterTokenizer, "tokenize", None)
    assert batches(files, cache=str(cache), **options) == wanted


@pytest.mark.slow
def test_copies_and_segmentations_are_the_same(files, tmp_path):
    words = WordTokenizer(["1", "2"])
    pieces = SentencePieceTokenizer.train(LINES, 40, byte_fallback=False)
    for tokenizer, options in (
        (words, {"copying": True}),
        (pieces, {"sample_subwords": 0.4, "training": True, "seed": 1}),
    ):
        both = tokenizer, tokenizer
        wanted = batches(files, both, **options)
        for _ in range(2):
            found = batches(files, both, cache=tmp_path / "c", **options)
            assert found == wanted
    unknown = [np.array(x) for b in batches(files, 2 * [words]) for x in b]
    assert max(x.max() for x in unknown) < 6  # no copies unless asked for


@pytest.mark.slow
def test_other_content_is_another_folder(files, tmp_path):
    cache = tmp_path / "cache"

    def count(**options):
        tokenizers = options.pop("tokenizers", (DIGITS, DIGITS))
        batches(files, tokenizers, 1, cache=cache, **options)
        return len(folders(cache))

    assert count() == 1
    moved = [path.with_name(f"moved{path.suffix}") for path in files]
    for one, other in zip(files, moved, strict=True):
        shutil.copy(one, other)
    files = moved  # content counts, not names
    assert count() == 1
    assert count(training=True, seed=3, buckets=3) == 1
    assert count(copying=True) == 2
    longer = CharacterTokenizer("0123456789x")
    assert count(tokenizers=(DIGITS, longer)) == 3
    files[1].write_text(files[1].read_text().replace("7", "8", 1))
    assert count() == 4
    files = files[::-1]
    assert count() == 5


class Halves(AbstractTokenizer):
    """Its config says nothing of the order of its words."""

    def __init__(self, words):
        super().__init__(sorted(words))
        self.words = words

    @property
    def steps(self):
        return [steps.Split(), steps.LookUp(self.words), steps.Join(" ")]


def test_tokenizers_without_a_config_are_known_by_their_steps(tmp_path):
    sides, found = (["a b"], ["b"]), []
    for words in (["a", "b"], ["b", "a"]):
        both = 2 * [Halves(words)]
        found.append(batches(sides, both, 1, cache=tmp_path))
        assert found[-1] == batches(sides, both, 1)
    assert found[0] != found[1]
    assert len(folders(tmp_path)) == 2


def test_other_sentences_are_another_folder(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    sides = ["1", "23"], ["4", "5"]
    wanted = batches(sides, cache=cache)
    batches((["1", "23"], ["4", "6"]), cache=cache)
    batches((["12", "3"], ["4", "5"]), cache=cache)
    assert len(folders(cache)) == 3
    monkeypatch.setattr(CharacterTokenizer, "tokenize", None)
    assert batches(sides, cache=cache) == wanted


def test_many_ids_take_four_bytes(files, tmp_path):
    small, large = (
        CharacterTokenizer([chr(0x10000 + n) for n in range(size)], "identity")
        for size in (9, 70_000)
    )
    sizes = []
    for tokenizer in (small, large):
        folder = tmp_path / str(tokenizer.vocabulary_size)
        text = chr(0x10000 + tokenizer.vocabulary_size - 5) * 30
        for path in files:
            path.write_text(f"{text}\n" * 3)
        ((source, *_),) = batches(files, 2 * [tokenizer], 1, cache=folder)
        assert source[0] == [2, *[tokenizer.vocabulary_size - 1] * 30, 3]
        (found,) = folder.glob("*/source.ids.values")
        sizes.append(found.stat().st_size)
    assert sizes == [3 * 32 * 2, 3 * 32 * 4]


def test_ids_beyond_the_vocabulary_are_refused(files, tmp_path, monkeypatch):
    def wrong(self, text):
        return Pieces([2**16 + 2], lambda: [text])

    monkeypatch.setattr(CharacterTokenizer, "read", wrong)
    for cache in (None, tmp_path / "cache"):
        with pytest.raises(ValueError, match="ids from 2 to 65538"):
            batches(files, cache=cache)
    assert not folders(tmp_path / "cache")


def test_broken_text_is_named_and_leaves_nothing(files, tmp_path):
    files[1].write_bytes(b"1\n\xff\n")
    with pytest.raises(ValueError, match=r"train\.b:2"):
        batches(files, cache=tmp_path / "c")
    files[1].unlink()
    with pytest.raises(ValueError, match=r"train\.b: No such file"):
        batches(files, cache=tmp_path / "c")
    assert not folders(tmp_path / "c")


def test_text_that_changes_meanwhile_is_an_error(files, tmp_path, monkeypatch):
    read = CharacterTokenizer.read

    def late(self, text):
        files[0].write_text(files[0].read_text() + "1\n")
        return read(self, text)

    monkeypatch.setattr(CharacterTokenizer, "read", late)
    with pytest.raises(ValueError, match="files that have changed"):
        batches(files, cache=tmp_path / "c")
    assert not folders(tmp_path / "c")


@pytest.mark.parametrize("cache", ["", 3, b"c", "file"])
def test_a_cache_must_be_a_folder(files, cache, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="`cache` must name a folder"):
        batches(files, cache=cache)


def test_nothing_is_kept_in_memory(files, tmp_path):
    """What is let go comes back from the file."""
    names = "source.ids.values", "target.ids.offsets"
    about = [files], PairEncoder((DIGITS, DIGITS))
    corpus = read_corpus(*about, Cache(tmp_path / "c"))
    before = [[row.tolist() for row in side] for side in corpus.sides]
    corpus.release()
    assert [[row.tolist() for row in side] for side in corpus.sides] == before
    assert len(corpus.mapped) == 5
    (folder,) = folders(tmp_path / "c")
    assert {*names} <= {x.name for x in folder.iterdir()}
    assert read_corpus(*about, None).mapped == []
