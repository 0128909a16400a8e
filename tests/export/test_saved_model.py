"""The SavedModel: what is in it, and what it does not replace."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from seq2seqs import small_model
from tiny import tiny_translator

from keras_attention import BeamSearch
from keras_attention import CharacterTokenizer
from keras_attention import Translator
from keras_attention.export import TensorTokenizer
from keras_attention.export import saved_model
from keras_attention.export.saved_model import save_signatures

THREE = keras.Variable(3.0)


@pytest.mark.slow
@pytest.mark.usefixtures("without_graphs")
def test_phrases_that_are_required_come_in_the_file_too(tmp_path):
    """Also a word that only the source has."""
    digits = CharacterTokenizer("01234", "identity")
    search = BeamSearch(6, max_length=7, forbidden_ids=[1])
    translator = Translator(small_model(copying=True), digits, digits, search)
    texts, required = ["01x2", "42", ""], [["20", "x"], [], ["x"]]
    with pytest.warns(UserWarning, match="no translation that contains"):
        wanted = translator(texts, required=required, return_scores=True)
    assert all(phrase in wanted.texts[0] for phrase in required[0])
    assert wanted.texts[2] == ""
    translator.export(tmp_path / "x")
    served = tf.saved_model.load(tmp_path / "x").signatures["constrained"]
    phrases = [[*row, "", ""][:2] for row in required]
    found = served(text=tf.constant(texts), required=tf.constant(phrases))
    given = [x.decode() for x in found["translations"].numpy()[:, 0]]
    assert given == wanted.texts
    np.testing.assert_allclose(found["scores"][:, 0], wanted.scores, atol=1e-4)


@pytest.mark.slow
@pytest.mark.usefixtures("without_graphs")
def test_what_reads_back_wrong_is_not_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(saved_model, "close", lambda *_: False)
    with pytest.raises(RuntimeError, match="Nothing was written"):
        tiny_translator().export(tmp_path / "digits")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_another_folder_is_not_replaced(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(ValueError, match="`path` exists"):
        tiny_translator().export(tmp_path)


# Functions as signatures: each with its tables, once.


def save(folder):
    """Save two functions of one tokenizer each; give how often each ran."""
    tokenizers = [TensorTokenizer(CharacterTokenizer(x)) for x in ("ab", "ba")]
    ran = []

    def reads(tokenizer):
        def read(text):
            ran.append(tokenizer)
            ids = tokenizer.tokenize(text)
            # A loop, whose body is a function of the graph as well.
            ids = tf.map_fn(lambda x: x + 0, ids)
            return {"ids": ids, "three": THREE + 0}

        return read

    text = [tf.TensorSpec((None,), tf.string, name="text")]
    functions = {
        name: tf.function(reads(tokenizer), text, autograph=False)
        for name, tokenizer in zip("ab", tokenizers, strict=True)
    }
    save_signatures(folder, functions, tokenizers)
    return ran, tokenizers


def test_a_folder_holds_all_tables_and_variables(tmp_path):
    save(tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    loaded = tf.saved_model.load(tmp_path / "there")
    assert set(loaded.signatures) == {"a", "b"}
    for name, ids in (("a", [2, 4, 5, 3]), ("b", [2, 5, 4, 3])):
        found = loaded.signatures[name](text=tf.constant(["ab"]))
        assert found["ids"].numpy().tolist() == [ids]
        assert found["three"] == 3
        assert getattr(loaded, name)(tf.constant(["ab"]))["three"] == 3


def test_a_function_is_traced_and_written_once(tmp_path):
    ran, tokenizers = save(tmp_path)
    assert ran == list(tokenizers)
    library = read_functions(tmp_path)
    assert sum("map_while_body" in name for name in library) == 2


def read_functions(folder):
    """List the names of the functions in a SavedModel."""
    with tf.compat.v1.Session(graph=tf.Graph()) as session:
        tags = [tf.saved_model.SERVING]
        found = tf.compat.v1.saved_model.load(session, tags, str(folder))
    return [x.signature.name for x in found.graph_def.library.function]
