import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attention.text import AbstractTokenizer
from keras_attention.text import CharacterTokenizer
from keras_attention.text import WordTokenizer

pytestmark = pytest.mark.tensorflow

TEXT = ["Ein Mann, der lacht.", "", "Über 3.5 km: der Hund?"]
KINDS = [CharacterTokenizer, WordTokenizer]


def train(kind, text=TEXT, **options):
    return kind.train(text, 1000, **options)


def strings(tensor):
    return [text.decode() for text in tensor.numpy()]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def tokenizer(request):
    return train(request.param)


def test_rows_are_framed_and_padded(tokenizer):
    ids = tokenizer.tokenize(TEXT)
    assert ids.dtype == tf.int32
    for row in ids.numpy():
        row = row.tolist()
        end = row.index(3)
        assert row[0] == 2
        assert all(token >= 4 for token in row[1:end])
        assert not any(row[end + 1 :])
    assert ids[1, :2].numpy().tolist() == [2, 3]


@pytest.mark.parametrize(
    "text", [TEXT, np.array(TEXT), np.array(TEXT, object), tf.constant(TEXT)]
)
def test_text_is_a_list_an_array_or_a_tensor(tokenizer, text):
    assert strings(tokenizer.detokenize(tokenizer.tokenize(text))) == TEXT


@pytest.mark.parametrize("text", ["Ein Mann", [["Ein"], ["Mann"]]])
def test_text_of_another_rank_is_refused(tokenizer, text):
    with pytest.raises(ValueError, match="into a list"):
        tokenizer.tokenize(text)


def test_an_empty_batch_stays_empty(tokenizer):
    ids = tokenizer.tokenize([])
    assert ids.shape[0] == 0
    assert tokenizer.detokenize(ids).shape == (0,)
    assert tokenizer.tokens(ids).shape == ids.shape


def test_graphs_take_any_batch_and_length(tokenizer):
    tokenize = tf.function(
        tokenizer.tokenize, input_signature=[tf.TensorSpec((None,), tf.string)]
    )
    detokenize = tf.function(
        tokenizer.detokenize,
        input_signature=[tf.TensorSpec((None, None), tf.int32)],
    )
    for batch in ([], [""], TEXT, TEXT[:1]):
        ids = tokenize(tf.constant(batch, tf.string))
        np.testing.assert_array_equal(ids, tokenizer.tokenize(batch))
        assert strings(detokenize(ids)) == batch


@pytest.mark.parametrize("limit", [2, 3, 5, 100])
def test_max_length_cuts_and_keeps_the_end(tokenizer, limit):
    full = tokenizer.tokenize(TEXT).numpy()
    cut = tokenizer.tokenize(TEXT, max_length=limit).numpy()
    assert cut.shape[1] == min(limit, full.shape[1])
    for whole, row in zip(full, cut, strict=True):
        length = min(limit, (whole > 0).sum())
        assert (row > 0).sum() == length
        assert row[length - 1] == 3
        assert (row[: length - 1] == whole[: length - 1]).all()


def test_max_length_must_hold_start_and_end(tokenizer):
    with pytest.raises(ValueError, match="at least 2"):
        tokenizer.tokenize(TEXT, max_length=1)


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


def test_detokenize_wants_rows(tokenizer):
    with pytest.raises(ValueError, match="into a list"):
        tokenizer.detokenize([2, 4, 3])


def test_every_id_has_a_name(tokenizer):
    names = tokenizer.tokens(np.array([[[0, 1]], [[2, 3]]]))
    assert names.shape == (2, 1, 2)
    assert strings(tf.reshape(names, [-1])) == ["", "<unk>", "<s>", "</s>"]
    own = np.arange(4, tokenizer.vocabulary_size)
    assert strings(tokenizer.tokens(own)) == tokenizer.vocabulary


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("normalization", ["nfkc", "nfc", "identity"])
def test_text_is_normalized(kind, normalization):
    tokenizer = train(kind, ["ﬁne Cafe\u0301"], normalization=normalization)
    form = {"nfkc": "fine Café", "nfc": "ﬁne Café"}
    ids = tokenizer.tokenize(["ﬁne Cafe\u0301"])
    want = form.get(normalization, "ﬁne Cafe\u0301")
    assert strings(tokenizer.detokenize(ids)) == [want]


@pytest.mark.parametrize("kind", KINDS)
def test_lower_case_is_no_folding(kind):
    tokenizer = train(kind, ["ÄRGER auf der Straße"], lowercase=True)
    ids = tokenizer.tokenize(["Ärger AUF der STRAßE"])
    assert strings(tokenizer.detokenize(ids)) == ["ärger auf der straße"]


def test_a_missing_tensorflow_text_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_text", None)
    with pytest.raises(ImportError, match=r"keras-attention\[text\]"):
        WordTokenizer([])
    assert WordTokenizer([], normalization="identity").tokenize([""]).shape[0]


def test_only_normalization_needs_an_op_of_tensorflow_text():
    ops = {}
    for form in ("nfkc", "identity"):
        graph = tf.function(WordTokenizer(["a"], form, True).tokenize)
        graph = graph.get_concrete_function(tf.TensorSpec((None,), tf.string))
        ops[form] = {op.type for op in graph.graph.get_operations()}
    assert ops["nfkc"] - ops["identity"] == {"NormalizeUTF8"}


def test_an_unknown_normalization_is_refused():
    with pytest.raises(ValueError, match="'nfkc', 'nfc', 'identity'"):
        WordTokenizer([], normalization="nfd")


@pytest.mark.parametrize("normalization", ["nfkc", "identity"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_bytes_stop_the_graph(kind, normalization):
    random = np.random.default_rng(0)
    noise = [random.bytes(random.integers(40)) for _ in range(300)]
    noise += [
        b"\x00",
        b"a\x00b",
        b"\xff\xfe",
        "👨‍👩‍👧 שלום".encode(),
        b"\xed\xa0\x80",
    ]
    tokenizer = kind([*"abcdef "], normalization, lowercase=True)
    ids = tokenizer.tokenize(tf.constant(noise))
    assert ids.shape[0] == len(noise)
    for text in tokenizer.detokenize(ids).numpy():
        text.decode("utf-8")
    again = tokenizer.tokenize(tokenizer.detokenize(ids))
    np.testing.assert_array_equal(again, ids)


def test_invalid_bytes_become_the_replacement_character():
    tokenizer = CharacterTokenizer("a\ufffd")
    ids = tokenizer.tokenize(tf.constant([b"a\xffa"]))
    assert ids.numpy().tolist() == [[2, 4, 5, 4, 3]]


def test_config_builds_an_equal_tokenizer(tokenizer):
    config = keras.saving.serialize_keras_object(tokenizer)
    twin = keras.saving.deserialize_keras_object(json.loads(json.dumps(config)))
    assert type(twin) is type(tokenizer)
    assert twin.get_config() == tokenizer.get_config()
    assert set(twin.get_config()) == {
        "vocabulary",
        "normalization",
        "lowercase",
    }
    np.testing.assert_array_equal(twin.tokenize(TEXT), tokenizer.tokenize(TEXT))


def test_a_saved_tokenizer_comes_back(tmp_path):
    for kind in KINDS:
        first = train(kind, normalization="nfc", lowercase=True)
        folder = tmp_path / "new" / kind.__name__
        first.save(folder)
        first.save(str(folder))
        assert [file.name for file in folder.iterdir()] == ["tokenizer.json"]
        twin = AbstractTokenizer.load(folder)
        assert type(twin) is kind
        assert twin.get_config() == first.get_config()
        assert type(kind.load(str(folder))) is kind


def test_a_tokenizer_loads_in_a_new_process(tmp_path):
    train(WordTokenizer).save(tmp_path)
    code = (
        "from keras_attention.text.base import AbstractTokenizer as A;"
        f"print(A.load({str(tmp_path)!r}).vocabulary_size)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True
    )
    assert run.stdout.split()[-1] == str(train(WordTokenizer).vocabulary_size)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "JSON"),
        (b'{"class_name": "keras_atten', "JSON"),
        (b"[1, 2]", "TypeError"),
        (b'{"config": {}}', "class_name"),
        (b'{"class_name": "os>system", "config": {}}', "os>system"),
        (b'{"class_name": "Dense", "config": {"units": 3}}', "Dense"),
        (b'{"class_name": "keras_attention>WordTokenizer", "config": {}}', "v"),
        (b"\xff\xfe\x00", "utf-8"),
        (None, "No such file"),
    ],
)
def test_a_broken_file_is_named(tmp_path, content, reason):
    file = tmp_path / "tokenizer.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ValueError, match=reason) as caught:
        AbstractTokenizer.load(tmp_path)
    assert str(file) in str(caught.value)


def test_another_class_is_not_loaded(tmp_path):
    train(WordTokenizer).save(tmp_path)
    with pytest.raises(ValueError, match="WordTokenizer"):
        CharacterTokenizer.load(tmp_path)


def test_an_export_can_be_moved(tokenizer, tmp_path):
    def serve(text):
        ids = tokenizer.tokenize(text)
        return {
            "ids": ids,
            "text": tokenizer.detokenize(ids),
            "tokens": tokenizer.tokens(ids),
        }

    archive = keras.export.ExportArchive()
    archive.track(tokenizer)
    text = tf.TensorSpec((None,), tf.string, name="text")
    archive.add_endpoint("serve", serve, [text])
    archive.write_out(str(tmp_path / "here"), verbose=False)
    (tmp_path / "here").rename(tmp_path / "there")
    loaded = tf.saved_model.load(str(tmp_path / "there"))
    for batch in (TEXT, [], [""]):
        batch = tf.constant(batch, tf.string)
        got, want = loaded.serve(batch), serve(batch)
        for name in want:
            np.testing.assert_array_equal(got[name], want[name])
