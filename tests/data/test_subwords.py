"""subwords: segmentations drawn for each epoch, in `parallel_dataset`."""

import numpy as np
import pytest
from foreign import foreign_model

from keras_attention.data.dataset import parallel_dataset
from keras_attention.text import CharacterTokenizer
from keras_attention.text import SentencePieceTokenizer

LINES = [
    "ein kleiner hund spielt im garten",
    "zwei hunde spielen im schnee",
    "eine kleine katze schläft im garten",
    "drei katzen schlafen",
    "der hund und die katze",
    "ein hund",
    "die hunde und die katzen spielen im kleinen garten",
    "der schnee",
]


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def tokenizer(request):
    return SentencePieceTokenizer.train(
        LINES * 3, 80, model_type=request.param, byte_fallback=False
    )


@pytest.fixture
def files(tmp_path):
    paths = tmp_path / "a.txt", tmp_path / "b.txt"
    for path in paths:
        path.write_text("\n".join(LINES) + "\n")
    return paths


def epochs(files, tokenizer, count=3, **options):
    """Ids of each batch of each epoch."""
    dataset = parallel_dataset(
        *files, tokenizer, tokenizer, batch_size=2, **options
    )
    return [
        [(x.numpy(), y.numpy()) for (x, _), y in dataset] for _ in range(count)
    ]


def ids(epoch):
    return [side.tolist() for batch in epoch for side in batch]


def texts(tokenizer, epoch):
    return [
        tokenizer.detokenize(side).tolist() for batch in epoch for side in batch
    ]


@pytest.mark.slow
def test_the_text_stays_and_the_pieces_change(files, tokenizer):
    options = {"training": True, "seed": 1}
    plain = epochs(files, tokenizer, 8, **options)
    options["sample_subwords"] = 0.3
    drawn = epochs(files, tokenizer, 8, **options)
    for one, other in zip(plain, drawn, strict=True):
        assert texts(tokenizer, one) == texts(tokenizer, other)
        assert ids(one) != ids(other)
    again = epochs(files, tokenizer, 8, **options)
    assert [*map(ids, again)] == [*map(ids, drawn)]
    rows = [
        {tuple(row[row > 0]) for epoch in found for x, _ in epoch for row in x}
        for found in (plain, drawn)
    ]
    assert len(rows[0]) == len(LINES) < len(rows[1])
    sides = [
        [
            row[row > 0].tolist()
            for epoch in drawn
            for x in epoch
            for row in x[i]
        ]
        for i in range(2)
    ]
    assert [row[1:] for row in sides[0]] != sides[1]  # has no start


def test_is_for_training_alone(files, tokenizer):
    plain = epochs(files, tokenizer, 1)
    asked = epochs(files, tokenizer, 1, sample_subwords=0.5)
    assert ids(plain[0]) == ids(asked[0])


def test_shapes_are_few(files, tokenizer):
    options = {"training": True, "seed": 1, "buckets": 2}
    drawn = epochs(files, tokenizer, 4, **options, sample_subwords=1.0)
    assert len({(x.shape, y.shape) for epoch in drawn for x, y in epoch}) <= 2


@pytest.mark.parametrize("rate", [0.1, 0.9])
def test_sentences_of_one_length_are_drawn_as_others(rate):
    """They have one bucket, which holds nearly all that is drawn for them."""
    lines = [f"wasser {n % 7} garten {n % 11} schnee" for n in range(200)]
    tokenizer = SentencePieceTokenizer.train(lines, 60, "bpe")
    wanted = [len(row) for row in tokenizer.sample(lines * 5, rate, 3)]
    parts = lines, lines, tokenizer, tokenizer, 20
    options = {"training": True, "seed": 1, "sample_subwords": rate}
    dataset = parallel_dataset(*parts, **options)
    found = [
        length
        for _ in range(5)
        for (source, _), _ in dataset
        for length in (source.numpy() > 0).sum(axis=1)
    ]
    assert len(found) == len(wanted)
    assert abs(np.mean(found) - np.mean(wanted)) < 0.02 * np.mean(wanted)
    assert abs(np.std(found) - np.std(wanted)) < 0.1 * np.std(wanted)


def test_nothing_that_is_drawn_is_longer_than_max_length(files, tokenizer):
    options = {"training": True, "seed": 1, "max_length": 8}
    with pytest.warns(UserWarning, match="parallel_dataset drops"):
        drawn = epochs(files, tokenizer, 4, **options, sample_subwords=1.0)
    assert max(x.shape[1] for epoch in drawn for x, _ in epoch) <= 8
    assert max(y.shape[1] + 1 for epoch in drawn for _, y in epoch) <= 8


def test_other_tokenizers_cannot(tokenizer):
    """They are told before the text is read."""
    letters = CharacterTokenizer("abc")
    bare = SentencePieceTokenizer(foreign_model(model_type="char"))
    for other, rate, copying, says in (
        (letters, 0.1, False, "needs a SentencePieceTokenizer"),
        (tokenizer, 0.1, True, "copying=False"),
        (tokenizer, 2.0, False, "`sample_subwords` must be"),
        (bare, 0.1, False, "model_type=char"),
    ):
        options = {"sample_subwords": rate, "copying": copying}
        for pair in ((other, tokenizer), (tokenizer, other)):
            with pytest.raises(ValueError, match=says):
                parallel_dataset("missing", "too", *pair, 2, **options)


class TestSample:
    """`SentencePieceTokenizer.sample`."""

    def test_the_text_is_the_same(self, tokenizer):
        rows = tokenizer.sample(LINES, 0.2, seed=3)
        for row, line in zip(rows, LINES, strict=True):
            assert row.dtype == "int32"
            assert (row[0], row[-1]) == (2, 3)
            (text,) = tokenizer.detokenize(row[None])
            assert text == line
        best = tokenizer.tokenize(LINES)
        again = tokenizer.sample(LINES, 0.2, seed=3)
        assert all((x == y).all() for x, y in zip(rows, again, strict=True))
        assert sum(map(len, rows)) > np.count_nonzero(best)
        assert not tokenizer.sample([], 0.1, seed=0)
        (row,) = tokenizer.sample([""], 0.1, seed=0)
        assert row.tolist() == [2, 3]

    @pytest.mark.parametrize(
        ("name", "value"), [("rate", 0.0), ("rate", 1.5), ("seed", -1)]
    )
    def test_refuses_numbers_out_of_range(self, tokenizer, name, value):
        with pytest.raises(ValueError, match=f"`{name}`"):
            tokenizer.sample(LINES, **{"rate": 0.1, "seed": 0, name: value})
