"""Without TensorFlow tokenizers give the same ids and the same text."""

import sys

import hostile
import keras
import numpy as np
import pytest
import source
from no_tensorflow import leave_out_tensorflow
from tokenizers import KINDS
from tokenizers import OPTIONS
from tokenizers import TEXT
from tokenizers import train

from keras_attention.data.dataset import parallel_dataset
from keras_attention.text import AbstractTokenizer
from keras_attention.text import CharacterTokenizer
from keras_attention.text import SentencePieceTokenizer
from keras_attention.text import TaggedTokenizer
from keras_attention.text import WordPieceTokenizer

SENTENCES = [
    *("L'homme qu'il a vu : « oui » !", 'He\'s got 3.5 "km", U.S.-wide'),
    *("R&B \n isn't well-known (Obst-/Gemüse).", "„Ja“, sagt's <unk>, l'<unk>"),
    *("ΟΔΟΣ ΣΑΣ İstanbul ǅ ﬁ ①", " \u2003 leading", "'em -- -Schild '"),
]


def listed(x):
    """Strings and numbers of a result, whatever holds them."""
    if hasattr(x, "row_lengths"):
        return np.asarray(x.row_lengths()).tolist(), listed(x.flat_values)
    flat = np.asarray(x).ravel().tolist()
    flat = [y.decode() if isinstance(y, bytes) else y for y in flat]
    return np.shape(x), flat


# Ids may differ where two segmentations have one probability, as "..." of ".."
# and "." has: TensorFlow comes with a `sentencepiece` of its own.
def results(tokenizer, texts):
    ids = tokenizer.tokenize(texts)
    unknown = np.where(np.asarray(ids) == 1, "?!", "")
    return [
        listed(x)
        for x in (
            ids,
            tokenizer.tokenize(texts, max_length=7),
            tokenizer.tokenize([]),
            tokenizer.count(texts),
            tokenizer.surfaces(texts),
            tokenizer.tokens(ids),
            tokenizer.detokenize(ids),
            tokenizer.detokenize(ids, unknown),
            tokenizer.detokenize([[2, 5, 10**6, -1, 4, 3, 6]]),
        )
    ]


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize(
    "kind", [k for k in KINDS if k.__name__ != "WordPieceTokenizer"]
)
def test_arrays_give_what_tensors_give(kind, lowercase, monkeypatch):
    texts = [x.encode() for x in SENTENCES + TEXT]
    texts += hostile.hostile_texts(300, TEXT + SENTENCES, seed=5)
    known = SENTENCES[:4] + TEXT
    options = {"lowercase": lowercase} if "lowercase" in OPTIONS[kind] else {}
    tokenizer = train(kind, known, 400, **options)
    wanted = results(tokenizer, texts)
    saved = tokenizer.to_json()
    leave_out_tensorflow(monkeypatch)
    again = train(kind, known, 400, **options)
    assert again.to_json() == saved
    for found, one in zip(results(again, texts), wanted, strict=True):
        assert found == one


def test_tags_are_read_alike(monkeypatch):
    texts = ["ein Hund\tPL; no;DAT ", "x", "\tPL", "der\t\tPL", b"\xff\t;"]
    inner = train(CharacterTokenizer, SENTENCES)
    tokenizer = TaggedTokenizer(inner, ["PL", "DAT", "\ufffd"])
    wanted = results(tokenizer, texts)
    saved = tokenizer.to_json()
    leave_out_tensorflow(monkeypatch)
    found = results(AbstractTokenizer.from_json(saved), texts)
    assert found == wanted


def test_segmentations_are_drawn_alike(monkeypatch):
    tokenizer = train(SentencePieceTokenizer, SENTENCES)
    wanted = [x.tolist() for x in tokenizer.sample(TEXT, 0.2, 7)]
    saved = tokenizer.to_json()
    leave_out_tensorflow(monkeypatch)
    again = AbstractTokenizer.from_json(saved)
    assert [x.tolist() for x in again.sample(TEXT, 0.2, 7)] == wanted


@pytest.mark.parametrize(
    "options",
    [{"training": True, "seed": 3}, {}, {"copying": True, "shard": (1, 2)}],
    ids=str,
)
def test_batches_are_the_same(options, tmp_path, monkeypatch):
    files = [tmp_path / name for name in "ab"]
    words = "ein der Hund Mann lacht spielt 1 2 3 4 5".split()
    for shift, file in enumerate(files):
        rows = [words[i % 7 : i % 7 + i % 5 + shift + 1] for i in range(40)]
        file.write_text("".join(" ".join(row) + "\n" for row in rows))
    kind = KINDS[-1]
    tokenizer = kind.train(files, 12 if "copying" in options else 30)

    def epochs(tokenizer):
        parts = *files, tokenizer, tokenizer, 4
        dataset = parallel_dataset(*parts, buckets=3, **options)
        found = [
            [listed(x) for x in keras.tree.flatten(batch)]
            for _ in range(2)
            for batch in dataset
        ]
        return len(dataset), found

    wanted = epochs(tokenizer)
    saved = tokenizer.to_json()
    leave_out_tensorflow(monkeypatch)
    assert epochs(AbstractTokenizer.from_json(saved)) == wanted


def test_what_needs_tensorflow_names_its_extra(monkeypatch):
    leave_out_tensorflow(monkeypatch)
    monkeypatch.setitem(sys.modules, "tensorflow_text", None)
    with pytest.raises(ImportError, match=r"keras-rnn-attention\[text\]"):
        WordPieceTokenizer(["a"])


@pytest.mark.parametrize("wrong", ["ein Hund", [["a"]], [3], [None]])
def test_no_batch_of_strings_is_refused(wrong, monkeypatch):
    leave_out_tensorflow(monkeypatch)
    tokenizer = KINDS[0]("abc")
    with pytest.raises(ValueError, match=r"list|strings"):
        tokenizer.tokenize(wrong)


def test_text_names_tensorflow_in_one_file():
    named = {
        path.name
        for path in source.FILES
        if source.part(path) == "text" and "tensorflow" in source.imports(path)
    }
    assert named == {"tensors.py"}
