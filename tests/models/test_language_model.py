"""LanguageModel: trained by fit, and its own words by its own formula."""

import keras
import numpy as np
import pytest
from every_text import before
from every_text import check_best
from every_text import every_text
from keras import layers
from keras import ops
from ready import GRAPH
from samples import assert_close
from samples import to_numpy
from seq2seqs import WORDS
from seq2seqs import small_language_model
from tables import arrays

from keras_attention import BeamSearch
from keras_attention import LanguageModel
from keras_attention import Sampling
from keras_attention import SequenceCrossentropy

pytestmark = pytest.mark.usefixtures("without_graphs")

ROWS = np.zeros((2, 1), "int32")  # a source that is not read
TARGET = np.array([[2, 5, 6, 7, 3], [2, 4, 3, 0, 0], [2, 8, 8, 3, 0]])


def reference_probabilities(model, texts):
    """An embedding, a GRU cell and a dense layer of Keras, word by word."""
    cell = model.decoder.cell.cell
    table = to_numpy(model.embedding.embeddings)
    kernel, bias = map(to_numpy, model.output_layer.weights)
    state, said = np.zeros((len(texts), cell.units), "float32"), []
    for word in before(texts).T:
        inputs = table[word] * np.sqrt(table.shape[1])
        state = to_numpy(cell(inputs, [state])[0])
        scores = (state @ kernel + bias).astype("float64")
        odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
        said.append(odds / odds.sum(axis=-1, keepdims=True))
    return np.stack(said, axis=1)


def scores_of(said, texts):
    taken = np.take_along_axis(said, texts[..., None], -1)[..., 0]
    return np.log(np.where(texts == 0, 1.0, taken))


@pytest.mark.slow
def test_the_best_texts_are_those_of_its_cells():
    model = small_language_model()
    texts = every_text(WORDS, 3)
    search = BeamSearch(len(texts), n_best=20, max_length=3)
    found = arrays(model.generate(ROWS, search))
    scores = scores_of(reference_probabilities(model, texts), texts).sum(1)
    for row in range(2):
        check_best(found, row, texts, scores)
    assert found.weights is None


def test_it_says_of_a_whole_text_what_it_says_step_by_step():
    for model in (
        small_language_model(),
        small_language_model([layers.LSTMCell(4), layers.LSTMCell(6)]),
        small_language_model(tie_embeddings=True),
    ):
        logits = model(TARGET[:, :-1])
        pair = model((ROWS[[0, 0, 1]], TARGET[:, :-1]))
        np.testing.assert_array_equal(to_numpy(logits), to_numpy(pair))
        said = to_numpy(ops.softmax(logits))
        wanted = scores_of(said, TARGET[:, 1:])
        scores, token_scores = model.score(np.zeros((3, 1)), TARGET)
        assert_close(token_scores, wanted, 1e-5)
        assert_close(scores, wanted.sum(axis=1), 1e-5)
        assert model.attend(TARGET, TARGET) == []


@pytest.mark.graphs
@pytest.mark.slow
def test_it_learns_from_texts_alone(tmp_path):
    keras.utils.set_random_seed(0)
    model = LanguageModel(WORDS, 8, layers.GRUCell(16), dropout=0.1)
    adam = keras.optimizers.Adam(0.03)
    model.compile(adam, loss=SequenceCrossentropy(), **GRAPH)
    texts = np.repeat(TARGET, 20, axis=0)
    model.fit(texts[:, :-1], texts[:, 1:], epochs=15, verbose=0)
    found = model.generate(np.zeros((30, 1)), Sampling(seed=1, max_length=6))
    known = {tuple(row[row != 0]) for row in TARGET[:, 1:]}
    written = [tuple(row[row != 0]) for row in to_numpy(found.tokens)[:, 0]]
    assert sum(text in known for text in written) > 20
    begun = model.generate(ROWS, prefix=[[4], [8]])
    assert to_numpy(begun.tokens)[:, 0, :3].tolist() == [[4, 3, 0], [8, 8, 3]]
    model.save(tmp_path / "x.keras")
    again = keras.saving.load_model(tmp_path / "x.keras")
    assert_close(again(TARGET), model(TARGET), 1e-6)
    assert again.count_params() == model.count_params()


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="`vocabulary_size` must be a pos"):
        LanguageModel(0, 6, layers.GRUCell(6))
    with pytest.raises(ValueError, match="outputs of size 6, embedding_dim=5"):
        LanguageModel(WORDS, 5, layers.GRUCell(6), tie_embeddings=True)(TARGET)
    model = small_language_model()
    model.compile("sgd", loss=SequenceCrossentropy(), **GRAPH)
    with pytest.raises(ValueError, match="fit needs target ids from 0 to 8"):
        model.fit(TARGET + 5, TARGET, verbose=0)
