"""A translator without a source tokenizer: features in, text out."""

import keras
import numpy as np
import pytest
from keras import layers
from shell import shell

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import BeamSearch
from keras_attention import CharacterTokenizer
from keras_attention import Ensemble
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import StateBridge
from keras_attention import Translator

pytestmark = pytest.mark.usefixtures("without_graphs")

LETTERS = CharacterTokenizer("abcd")
LENGTHS = 7, 4, 2
X = np.random.default_rng(0).normal(size=(3, 7, 5)).astype("float32")
MASK = np.arange(7) < np.array(LENGTHS)[:, None]
ASK = {"return_scores": True, "return_attention_scores": True}


def make_model(encoder=None, shape=(3, 7, 5), seed=0):
    keras.utils.set_random_seed(seed)
    cell = AttentionDecoderCell(layers.LSTMCell(8), BahdanauAttention(6))
    model = Seq2Seq(
        source_vocabulary_size=None,
        target_vocabulary_size=LETTERS.vocabulary_size,
        embedding_dim=6,
        encoder=encoder or RecurrentEncoder(4),
        bridge=StateBridge() if encoder is None else None,
        decoder=AttentionDecoder(cell),
    )
    model((np.zeros(shape, "float32"), np.ones((shape[0], 2), "int32")))
    for weight in model.weights:
        weight.assign(3 * weight)
    return model


@pytest.fixture(scope="module")
def translator():
    return Translator(make_model(), None, LETTERS, BeamSearch(3, max_length=6))


@pytest.mark.graphs
def test_a_batch_gives_what_each_row_gives_alone(translator):
    rows = [x[:n] for x, n in zip(X, LENGTHS, strict=True)]
    found = translator(rows, batch_size=2, **ASK)
    assert found.source_tokens is None
    for i, row in enumerate(rows):
        alone = translator([row], **ASK)
        assert found.texts[i] == alone.texts[0]
        np.testing.assert_allclose(found.scores[i], alone.scores[0], rtol=1e-5)
        assert found.attention[i].shape[1] == LENGTHS[i]
        np.testing.assert_allclose(
            found.attention[i], alone.attention[0], atol=1e-5
        )
    masked = translator(X, mask=MASK, return_scores=True)
    np.testing.assert_allclose(masked.scores, found.scores, rtol=1e-5)
    assert translator([]) == []


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_number_that_is_none_is_refused_unless_masked(translator, wrong):
    features = np.where(MASK[..., None], X, wrong)
    assert translator(features, mask=MASK) == translator(X, mask=MASK)
    with pytest.raises(ValueError, match=r"finite numbers.*row 1, which has"):
        translator(features)


def test_texts_are_those_of_the_model(translator):
    found = translator.model.generate(X, translator.search)
    texts = LETTERS.detokenize(found.tokens[:, 0]).numpy().astype(str)
    assert translator(X) == texts.tolist()
    scores = translator.score(X, texts.tolist()).scores
    tokens = LETTERS.tokenize(texts)
    wanted, _ = translator.model.score(X, tokens)
    np.testing.assert_allclose(scores, wanted, rtol=1e-5)


def test_prefixes_and_phrases_come(translator):
    begun = translator(X, prefixes=["ab", "", "c"])
    assert begun[0].startswith("ab")
    assert begun[2].startswith("c")
    assert "da" in translator(X, required=[["da"], [], []])[0]


def test_commands_name_a_model_of_features(translator, tmp_path):
    folder = tmp_path / "heard"
    translator.save(folder)
    code, out, err = shell("show", folder)
    assert (code, err) == (0, "")
    assert "CharacterTokenizer" in out
    code, out, err = shell("translate", folder, given=b"a\n")
    assert (code, out) == (1, "")
    assert "needs a translator that reads text" in err
    with pytest.raises(ValueError, match="needs a `source_tokenizer`"):
        Translator(translator.model, None, LETTERS, replace_unknown=True)


def test_it_is_saved_without_a_source_tokenizer(translator, tmp_path):
    translator.save(tmp_path / "x")
    assert not (tmp_path / "x" / "source_tokenizer").exists()
    again = Translator.load(tmp_path / "x")
    assert again.source_tokenizer is None
    assert again(X) == translator(X)


def test_images_and_models_of_models_are_read():
    see = keras.Sequential(
        [layers.Conv2D(6, 3, padding="same"), layers.Reshape((-1, 6))]
    )
    model = make_model(see, (3, 4, 4, 1))
    images = np.random.default_rng(0).normal(size=(3, 4, 4, 1))
    seen = Translator(model, None, LETTERS)
    assert seen(images, **ASK).attention[0].shape[1] == 16
    both = Ensemble([make_model(seed=1), make_model(seed=2)])
    assert len(Translator(both, None, LETTERS)(X)) == 3
    with pytest.raises(
        ValueError, match=r"the same size, and no `mask`.*Resize"
    ):
        seen(images, mask=np.ones((3, 4), bool))


@pytest.mark.parametrize(
    ("features", "mask", "message"),
    [
        (X[..., :2], None, r"shape \(None, 5\).*row 0 of shape \(7, 2\)"),
        (X[0], None, r"row 0 of shape \(5,\)"),
        ([X[0], X[1, :0]], None, r"row 1 of shape \(0, 5\)"),
        (["text"], None, "needs features"),
        (X, MASK[:, :5], "`mask` must have a row"),
        ([X[0], X[1, :4]], MASK[:2], "`mask` must have a row"),
    ],
)
def test_features_that_do_not_fit_are_refused(
    translator, features, mask, message
):
    with pytest.raises(ValueError, match=message):
        translator(features, mask=mask)


def test_a_model_of_ids_needs_a_source_tokenizer(translator):
    with pytest.raises(ValueError, match="`source_tokenizer` must be an inst"):
        Translator(make_ids_model(), None, LETTERS)
    with pytest.raises(ValueError, match="source_vocabulary_size=None"):
        Translator(translator.model, LETTERS, LETTERS)
    sentences = Translator(make_ids_model(), LETTERS, LETTERS)
    with pytest.raises(ValueError, match="`mask` is only for translators"):
        sentences(["a"], mask=[[True]])


def make_ids_model():
    cell = AttentionDecoderCell(layers.LSTMCell(4), BahdanauAttention(4))
    return Seq2Seq(
        source_vocabulary_size=LETTERS.vocabulary_size,
        target_vocabulary_size=LETTERS.vocabulary_size,
        embedding_dim=4,
        encoder=RecurrentEncoder(2),
        bridge=StateBridge(),
        decoder=AttentionDecoder(cell),
    )
