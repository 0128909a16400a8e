from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hostile import hostile_texts
from memory import most_kilobytes
from tiers import some
from tokenizers import KINDS
from tokenizers import OPTIONS
from tokenizers import TEXT
from tokenizers import every_kind
from tokenizers import strings
from tokenizers import train

from keras_attention.text import SentencePieceTokenizer

HOSTILE = hostile_texts(260, TEXT, 5)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def tokenizer(request):
    return train(request.param)


def test_rows_are_framed_and_padded(tokenizer):
    ids = tokenizer.tokenize(TEXT)
    assert ids.dtype == np.int32
    for row in ids:
        row = row.tolist()
        end = row.index(3)
        assert row[0] == 2
        assert all(token >= 4 for token in row[1:end])
        assert not any(row[end + 1 :])
    assert ids[1, :2].tolist() == [2, 3]


@pytest.mark.parametrize(
    "text", [TEXT, np.array(TEXT), np.array(TEXT, object), tf.constant(TEXT)]
)
def test_text_is_a_list_an_array_or_a_tensor(tokenizer, text):
    assert strings(tokenizer.detokenize(tokenizer.tokenize(text))) == TEXT


@pytest.mark.parametrize("text", ["Ein Mann", [["Ein"], ["Mann"]], None, 3])
def test_text_of_another_rank_is_refused(tokenizer, text):
    for read in (tokenizer.tokenize, tokenizer.surfaces, tokenizer.count):
        with pytest.raises(ValueError, match=r"into (a|one flat) list"):
            read(text)
    with pytest.raises(ValueError, match="into a list"):
        tokenizer.detokenize([2, 4, 3])


def test_an_empty_batch_stays_empty(tokenizer):
    ids = tokenizer.tokenize([])
    assert ids.shape[0] == 0
    assert tokenizer.detokenize(ids).shape == (0,)
    assert tokenizer.tokens(ids).shape == ids.shape


def test_nothing_warns(tokenizer, caplog, request):
    logger = tf.get_logger()
    logger.addHandler(caplog.handler)
    request.addfinalizer(lambda: logger.removeHandler(caplog.handler))
    for copy in [tokenizer, *(train(type(tokenizer)) for _ in range(6))]:
        copy.tokenize(TEXT)
    dataset = tf.data.Dataset.from_tensor_slices(TEXT).batch(2)
    dataset = dataset.map(tokenizer.tokenize).map(tokenizer.detokenize)
    assert [text for batch in dataset for text in strings(batch)] == TEXT
    assert caplog.records == []


@pytest.mark.parametrize("limit", [2, 3, 5, 100])
def test_max_length_cuts_and_keeps_the_end(tokenizer, limit):
    full = tokenizer.tokenize(TEXT)
    cut = tokenizer.tokenize(TEXT, max_length=limit)
    assert cut.shape[1] == min(limit, full.shape[1])
    for whole, row in zip(full, cut, strict=True):
        length = min(limit, (whole > 0).sum())
        assert (row > 0).sum() == length
        assert row[length - 1] == 3
        assert (row[: length - 1] == whole[: length - 1]).all()


@pytest.mark.parametrize("limit", [1, 4.0, "4"])
def test_max_length_must_hold_start_and_end(tokenizer, limit):
    with pytest.raises(ValueError, match=r"`max_length` .* at least 2"):
        tokenizer.tokenize(TEXT, max_length=limit)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_what_is_behind_the_end_is_dropped(tokenizer, dtype):
    a, b = 4, 5
    rows = [[2, a, b, 3, a], [0, a, 0, b, 0], [3, a, b, a, b], [a, b, 2, 0, 3]]
    got = strings(tokenizer.detokenize(np.array(rows, dtype)))
    assert got[0] == got[1] == got[3] != ""
    assert got[2] == ""


def test_ids_without_a_token_are_unknown(tokenizer):
    size = tokenizer.vocabulary_size
    ids = np.array([[1, -7, size, 2**40]], "int64")
    unknown = strings(tokenizer.detokenize([[1]]))[0]
    assert strings(tokenizer.detokenize(ids))[0].count(unknown) == 4
    assert set(strings(tokenizer.tokens(ids)[0])) == {"<unk>"}


def test_rows_of_different_lengths_are_refused(tokenizer):
    ids, text = tf.ragged.constant([[2, 4], [2]]), tf.ragged.constant([["a"]])
    for read in (tokenizer.detokenize, tokenizer.tokens):
        with pytest.raises(
            ValueError, match=r"a ragged.*`\.to_tensor\(\)`.*mask"
        ):
            read(ids)
        with pytest.raises(
            ValueError, match=r"integer ids. .*float.*Cast them"
        ):
            read([[2.5, 4.0]])
    with pytest.raises(ValueError, match=r"unknown=.*a ragged tensor.*to_ten"):
        tokenizer.detokenize([[2, 4]], text)
    for read in (tokenizer.tokenize, tokenizer.surfaces, tokenizer.count):
        with pytest.raises(ValueError, match=r"text=.*ragged tensor.*flat_val"):
            read(text)
    assert tokenizer.detokenize([[]]).tolist() == [""]


def test_every_id_has_a_name(tokenizer):
    names = tokenizer.tokens(np.array([[[0, 1]], [[2, 3]]]))
    assert names.shape == (2, 1, 2)
    assert strings(tf.reshape(names, [-1])) == ["", "<unk>", "<s>", "</s>"]
    own = np.arange(4, tokenizer.vocabulary_size)
    assert strings(tokenizer.tokens(own)) == tokenizer.vocabulary


def test_surfaces_are_what_the_ids_stand_for(tokenizer):
    text = [*TEXT, "Ein Hund € lacht"]
    surfaces = tokenizer.surfaces(text)
    ids = tokenizer.tokenize(text)
    for sentence, row, pieces in zip(text, ids, surfaces, strict=True):
        assert len(pieces) == (row > 3).sum() + (row == 1).sum()
        joined = "".join(pieces).replace(" ", "")
        assert joined == sentence.replace(" ", "")


def test_what_is_unknown_is_listed(tokenizer):
    text = [*TEXT, "Ein Hund € lacht §", ""]
    wanted = []
    for one in text:
        ids, pieces = tokenizer.tokenize([one])[0], tokenizer.surfaces([one])[0]
        pairs = zip(ids[1:-1], pieces, strict=True)
        wanted.append([piece for id_, piece in pairs if id_ == 1])
    assert tokenizer.unknown(text) == wanted
    assert tokenizer.unknown([]) == []


@every_kind
@pytest.mark.parametrize("max_length", [None, 7])
def test_surfaces_can_replace_what_is_unknown(kind, max_length):
    text = ["Ein Mann € lacht € , der", "Hund <unk> §", "", "€"]
    without_bytes = {"byte_fallback": False}
    pieces = kind is SentencePieceTokenizer
    tokenizer = train(kind, **(without_bytes if pieces else {}))
    ids = tokenizer.tokenize(text, max_length)
    assert (ids == 1).any()
    unknown = np.full(ids.shape, "", object)
    for row, pieces in zip(unknown, tokenizer.surfaces(text), strict=True):
        pieces = pieces[: len(row) - 1]
        row[1 : len(pieces) + 1] = pieces
    found = strings(tokenizer.detokenize(ids, unknown))
    if max_length is None:
        want = [t.replace(" , ", ", ") for t in text]
        assert [t.replace(" , ", ", ") for t in found] == want
    same = tokenizer.detokenize(ids, np.full(ids.shape, "", object))
    assert strings(same) == strings(tokenizer.detokenize(ids))


def test_only_unknown_ids_are_replaced(tokenizer):
    word = tokenizer.tokenize(["Ein"])[0, 1:-1].tolist()
    beyond = tokenizer.vocabulary_size
    rows = [
        [2, 1, *word, 3, 1],
        [1, 0, *word, 2, -1],
        [beyond, *word, 3, 1, 4],
        [2, *word, 3, 1, 1],
    ]
    new = [[f"<{i}{j}>" for j in range(len(rows[0]))] for i in range(4)]
    found = strings(tokenizer.detokenize(rows, new))
    last = len(rows[0]) - 1
    want = ["<01>Ein", f"<10>Ein<1{last}>", "<20>Ein", "Ein"]
    assert [text.replace(" ", "") for text in found] == want


@every_kind
def test_no_bytes_stop_the_graph(kind):
    options = {"normalization": "nfkc", "lowercase": True}
    taken = {x: y for x, y in options.items() if x in OPTIONS[kind]}
    tokenizer = train(kind, [*TEXT, "1/2"], **taken)
    ids = tokenizer.tokenize(HOSTILE)
    assert ids.shape[0] == len(HOSTILE)
    text = tokenizer.detokenize(ids)
    strings(text)
    np.testing.assert_array_equal(tokenizer.tokenize(text), ids)
    np.testing.assert_array_equal(
        tokenizer.detokenize(tokenizer.tokenize(text)), text
    )
    lengths = [*map(len, tokenizer.surfaces(HOSTILE))]
    np.testing.assert_array_equal(lengths, (ids > 0).sum(axis=1) - 2)


def test_any_ids_are_valid_text(tokenizer):
    draw = np.random.default_rng(0)
    ids = draw.integers(-1, tokenizer.vocabulary_size + 1, (200, 20))
    together = strings(tokenizer.detokenize(ids))
    for i in range(9):
        assert strings(tokenizer.detokenize(ids[i : i + 1])) == [together[i]]


@pytest.mark.slow
def test_rows_do_not_change_each_other(tokenizer):
    rows = HOSTILE[:26]
    together = tokenizer.tokenize(rows)
    texts = tokenizer.detokenize(together)
    surfaces = tokenizer.surfaces(rows)
    for i, row in enumerate(rows):
        alone = tokenizer.tokenize([row])
        width = alone.shape[1]
        np.testing.assert_array_equal(together[i, :width], alone[0])
        assert not together[i, width:].any()
        assert tokenizer.detokenize(alone)[0] == texts[i]
        assert tokenizer.surfaces([row])[0] == surfaces[i]


def test_a_long_text_makes_no_other_row_long(tokenizer, monkeypatch):
    """What is cut is cut before rows are padded to the longest."""
    widths = []
    pad = tf.RaggedTensor.to_tensor

    def watched(rows, *args, **kwargs):
        dense = pad(rows, *args, **kwargs)
        widths.append(dense.shape[1])
        return dense

    monkeypatch.setattr(tf.RaggedTensor, "to_tensor", watched)
    text = tf.constant(["Ein", "Ein Mann " * 99])
    assert tokenizer.tokenize(text, max_length=9).shape == (2, 9)
    assert max(widths) <= 9


@pytest.mark.parametrize(
    "text",
    some(["Ein" * 30_000, "Ein, der? " * 10_000, "\0\xff" * 30_000], 1),
)
def test_memory_is_linear_in_the_text(tokenizer, text):
    """100 kB take at most 60 MB, in whatever pieces."""
    tokenizer.surfaces(["Ein"])
    try:  # the peak begins at the memory of now
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pytest.skip("needs Linux")
    before = most_kilobytes()
    assert tokenizer.count([text])[0] >= 3
    assert len(tokenizer.surfaces([text])) == 1
    assert most_kilobytes() - before < 60_000


def test_ids_are_counted(tokenizer):
    text = [*HOSTILE, *TEXT]
    ids = tokenizer.tokenize(text)
    counts = tokenizer.count(text)
    assert counts.dtype == np.int32
    assert counts.tolist() == (ids > 0).sum(axis=1).tolist()
    assert tokenizer.count([]).shape == (0,)


@pytest.mark.parametrize("shape", [(1, 2), (1, 5), (2, 4)])
def test_texts_of_unknown_ids_need_their_shape(shape):
    tokenizer = KINDS[0]("abc")
    unknown = np.full(shape, "x", object)
    with pytest.raises(ValueError, match=r"unknown.shape=.*ids.shape=\(1, 4\)"):
        tokenizer.detokenize([[2, 1, 1, 3]], unknown)
