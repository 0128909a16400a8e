"""TranslationGraph: one trace for every batch and length."""

import pytest
import tensorflow as tf
from tiny import tiny_translator

from keras_attention.translation import TranslationGraph


@pytest.fixture(scope="module")
def graph():
    tiny = tiny_translator()
    tokenizers = tiny.source_tokenizer, tiny.target_tokenizer
    return TranslationGraph(tiny.model, *tokenizers, tiny.search)


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
