"""Models of features: captioners and others, from features to tokens."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from alone import run_alone
from keras import layers
from tiers import some

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import BeamSearch
from keras_attention import CharacterTokenizer
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import StateBridge
from keras_attention import Translator
from keras_attention.export.litert import run_litert

LETTERS = CharacterTokenizer("abcd")
X = np.random.default_rng(0).normal(size=(3, 7, 5)).astype("float32")
MASK = np.arange(7) < np.array([[7], [4], [1]])


def make(encoder=None, shape=(3, 7, 5)):
    keras.utils.set_random_seed(0)
    cell = AttentionDecoderCell(layers.GRUCell(8), BahdanauAttention(6))
    model = Seq2Seq(
        source_vocabulary_size=None,
        target_vocabulary_size=LETTERS.vocabulary_size,
        embedding_dim=6,
        encoder=encoder or RecurrentEncoder(4, cell="gru"),
        bridge=StateBridge() if encoder is None else None,
        decoder=AttentionDecoder(cell),
    )
    model((np.zeros(shape, "float32"), np.ones((shape[0], 2), "int32")))
    for weight in model.weights:
        weight.assign(3 * weight)
    return Translator(model, None, LETTERS, BeamSearch(2, max_length=5))


def seeing():
    see = keras.Sequential(
        [layers.Conv2D(6, 3, padding="same"), layers.Reshape((-1, 6))]
    )
    return make(see, (3, 4, 4, 1))


IMAGES = np.random.default_rng(0).normal(size=(3, 4, 4, 1)).astype("float32")


def texts_of(tokens):
    tokens = np.array(tokens, "int32")[:, 0]
    return LETTERS.detokenize(tokens).astype(str).tolist()


def in_litert(path, batch):
    (found,) = run_litert(path, "translate_ids", [batch])
    return texts_of(found["tokens"])


def in_onnx(path, batch):
    ((tokens, _),) = run_alone(path, [tuple(batch.values())])
    return texts_of(tokens)


def in_onnx_text(path, batch):
    ((texts, _),) = run_alone(path, [tuple(batch.values())])
    return texts[:, 0].tolist()


def in_saved_model(path, batch):
    signatures = tf.saved_model.load(path).signatures
    given = {name: tf.constant(x) for name, x in batch.items()}
    found = signatures["align"](**given)
    assert found["attention"].shape[3] in (7, 16)
    assert "source_tokens" not in found
    phrases = tf.constant([["ab"], [""], ["c"]])
    begun = signatures["constrained"](required=phrases, **given)
    assert b"ab" in begun["translations"][0, 0].numpy()
    texts = signatures["serving_default"](**given)["translations"]
    return texts[:, 0].numpy().astype(str).tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name", "format", "run"),
    some(
        [
            ("sequences", "x", None, in_saved_model),
            ("images", "x.tflite", None, in_litert),
            ("sequences", "x.onnx", None, in_onnx),
            ("images", "x.onnx", "onnx_text", in_onnx_text),
            ("images", "x", None, in_saved_model),
            ("sequences", "x.tflite", None, in_litert),
        ],
        4,
    ),
)
def test_files_write_what_the_translator_writes(
    kind, name, format, run, tmp_path
):
    if kind == "images":
        translator, batch = seeing(), {"source": IMAGES}
        wanted = translator(IMAGES)
    else:
        translator, batch = make(), {"source": X, "source_mask": MASK}
        wanted = translator(X, mask=MASK)
    translator.export(tmp_path / name, format)
    assert run(tmp_path / name, batch) == wanted
