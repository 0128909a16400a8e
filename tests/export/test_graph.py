"""TranslationGraph: one trace for every batch and length."""

import keras
import numpy as np
import pytest
from tiny import tiny_translator
from tiny import write

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    from keras_attention.export import TranslationGraph


@pytest.fixture(scope="module")
def graph():
    translator = tiny_translator()
    return TranslationGraph(
        translator.model,
        translator.source_tokenizer,
        translator.target_tokenizer,
        translator.search,
    )


def test_one_trace_serves_all_shapes(graph):
    for text in ([], [""], ["1"], ["12345", "7", ""]):
        answer = graph.translate(tf.constant(text, tf.string))
        assert answer["translations"].shape == (len(text), 1)
        assert answer["scores"].shape == (len(text), 1)
    assert graph.translate.experimental_get_tracing_count() == 1


def test_align_tells_the_same_and_more(graph):
    text = tf.constant(["905", "1"])
    plain, more = graph.translate(text), graph.align(text)
    for name, value in plain.items():
        np.testing.assert_array_equal(value, more[name])
    assert plain["translations"][0, 0].numpy().decode() == write("905")
    assert more["attention"].shape == (2, 1, 8, 5)
    assert more["source_tokens"].shape == (2, 5)
    assert more["target_tokens"].shape == (2, 1, 8)
    ended = more["target_tokens"][1, 0].numpy().tolist()
    assert ended == [b"y", b"</s>", *[b""] * 6]


@pytest.mark.slow
def test_a_model_without_attention_has_none_to_tell():
    translator = tiny_translator(attention=False)
    told = translator(["12"], return_attention_scores=True)
    assert told.attention == [None]
    assert told.source_tokens == [["<s>", "1", "2", "</s>"]]
