"""TranslationGraph: one trace for every batch and length."""

import numpy as np
import pytest
import tensorflow as tf
from tiny import tiny_translator
from tiny import write

from keras_attention.translation import TranslationGraph


@pytest.fixture(scope="module")
def graph():
    tiny = tiny_translator()
    tokenizers = tiny.source_tokenizer, tiny.target_tokenizer
    return TranslationGraph(tiny.model, *tokenizers, tiny.search)


@pytest.mark.slow
def test_one_trace_serves_all_shapes(graph):
    for text in ([], [""], ["1"], ["12345", "7", ""]):
        columns = graph.read(tf.constant(text, tf.string))
        answer = graph.translate(*columns)
        assert answer["translations"].shape == (len(text), 1)
        assert answer["scores"].shape == (len(text), 1)
    run = graph._functions[False, 1]
    assert run.experimental_get_tracing_count() == 1
    assert graph.read.experimental_get_tracing_count() == 1


@pytest.mark.slow
def test_align_tells_the_same_and_more(graph):
    text = tf.constant(["905", "1"])
    columns = graph.read(text)
    plain, more = graph.translate(*columns), graph.align(*columns)
    for name, value in plain.items():
        np.testing.assert_array_equal(value, more[name])
    assert plain["translations"][0, 0].numpy().decode() == write("905")
    assert more["attention"].shape == (2, 1, 8, 5)
    assert more["source_tokens"].shape == (2, 5)
    assert more["target_tokens"].shape == (2, 1, 8)
    ended = more["target_tokens"][1, 0].numpy().tolist()
    assert ended == [b"y", b"</s>", *[b""] * 6]


def test_a_prefix_is_cut_before_it_is_padded(graph):
    long = "zyx" * 100
    text = tf.constant(["1", "1"])
    prefix = tf.constant([long, ""])
    for found in graph._begin(prefix, *graph.read(text), None):
        assert found.shape == (2, graph.search.max_length)
    found = graph.translate(*graph.read(text), prefix)["translations"]
    assert found[0, 0].numpy().decode() == long[: graph.search.max_length]


def test_a_translation_keeps_no_attention(graph):
    """All steps of it, `(T, B, K, Tv)`, would be most of the memory."""

    def buffers(*key):
        nodes = graph._functions[key].get_concrete_function().graph
        loops = [x for x in nodes.get_operations() if x.type == "While"]
        return max(sum(x.shape.rank == 4 for x in y.outputs) for y in loops)

    assert buffers(True, 1) == buffers(False, 1) + 1
    assert buffers(False, 2) == buffers(False, 1)


@pytest.mark.slow
def test_a_model_without_attention_has_none_to_tell():
    translator = tiny_translator(attention=False)
    told = translator(["12"], return_attention_scores=True)
    assert told.attention == [None]
    assert told.source_tokens == [["<s>", "1", "2", "</s>"]]
