"""What a search computes again at every step, counted in its compiled loop.

What is the same at every step is recognized by identity and taken out. A part
that casts or reshapes it in its step runs slow, and nothing else tells.
"""

import collections

import numpy as np
import pytest
from seq2seqs import WORDS
from seq2seqs import small_model

from keras_attention import GreedySearch
from keras_attention import Shortlist

LIST = Shortlist(np.ones((WORDS, 2), int), [4, 5])
PRODUCTS = ("MatMul", "BatchMatMulV2", "Einsum")
# Flags, and how many products and casts there are in half precision.
MODELS = {
    "plain": ({}, 8, 7),
    "tied": ({"tie_embeddings": True}, 8, 5),
    "lexical": ({"lexical": True}, 11, 12),
    "copying": ({"copying": True}, 10, 8),
    "shortlisted": ({}, 8, 5),
    "shortlisted_lexical": ({"lexical": True}, 10, 8),
}


def count_operations(model, shortlist) -> collections.Counter:
    """Count the operations in the body of a search's loop."""
    import tensorflow as tf

    ids = tf.TensorSpec((None, None), tf.int32)
    search = GreedySearch(max_length=5)

    @tf.function(input_signature=[ids], autograph=False)
    def run(source):
        return model.generate(source, search, shortlist=shortlist).tokens

    library = run.get_concrete_function().graph.as_graph_def().library
    bodies = [x for x in library.function if "while_body" in x.signature.name]
    body = max(bodies, key=lambda x: len(x.node_def))
    return collections.Counter(node.op for node in body.node_def)


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("name", MODELS)
def test_a_loop_computes_what_changes_alone(name):
    flags, products, casts = MODELS[name]
    model = small_model(layer_size=5, dtype="mixed_float16", **flags)
    shortlist = LIST if name.startswith("shortlisted") else None
    found = count_operations(model, shortlist)
    assert sum(found[x] for x in PRODUCTS) == products, found
    assert found["Cast"] <= casts
