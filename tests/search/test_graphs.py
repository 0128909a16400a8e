"""Every search as one graph: compiled, and of sizes known when it runs."""

import keras
import numpy as np
import pytest
from naive import Row
from naive import Rules
from naive import check_texts
from tables import arrays
from tables import history_tables
from tables import root_state
from tables import whole_history
from tiers import some

from keras_attention.search import BeamSearch
from keras_attention.search import GreedySearch
from keras_attention.search import Sampling

BACKEND = keras.backend.backend()
RULES = Rules(no_repeat_ngram_size=2, forbidden_ids=(0,), min_length=2)
SEARCHES = {
    "greedy": GreedySearch(**RULES.common),
    "beam": BeamSearch(
        3, 2, length_penalty=0.6, coverage_penalty=0.3, **RULES.common
    ),
    "top_k=1": Sampling(top_k=1, **RULES.common),
}
every_search = pytest.mark.parametrize("name", SEARCHES)


def check(found, name, tables, mask, prefix):
    found = arrays(found)
    for b, forced in enumerate(prefix):
        rules = RULES
        if name == "beam":
            rules = Rules(**RULES.common)
            rules.length_penalty, rules.coverage_penalty = 0.6, 0.3
        row = Row(tables[0][b], tables[1][b], rules, forced, mask[b])
        check_texts(found, b, row.beam(3 if name == "beam" else 1))


@every_search
@pytest.mark.skipif(BACKEND != "tensorflow", reason="tf.function")
class TestInATensorFlowGraph:
    @pytest.mark.slow
    @pytest.mark.parametrize("xla", some([False, True], 1))
    def test_any_batch_any_source_any_prefix(self, name, xla):
        import tensorflow as tf

        @tf.function(
            autograph=False,
            jit_compile=xla,
            input_signature=[
                tf.TensorSpec((None, 85, 4), "float64"),
                tf.TensorSpec((None, 85, None), "float64"),
                tf.TensorSpec((None, None), "bool"),
                tf.TensorSpec((None, None), "int32"),
            ],
        )
        def search(table, weights, mask, prefix):
            size = tf.shape(table)[0]
            node = tf.fill((size, 1), -1)

            def step(tokens, node):
                node = tf.where(node < 0, 0, 4 * node + 1 + tokens)
                found = [
                    tf.gather(x, node, batch_dims=1) for x in (table, weights)
                ]
                return found[0], node, found[1]

            return SEARCHES[name](step, node, size, mask, prefix)

        for rows, words, forced in ((5, 4, 2), (1, 7, 0), (2, 1, 5), (0, 3, 1)):
            tables = history_tables(rows, rows=rows, words=words)
            rng = np.random.default_rng(rows)
            mask = rng.random((rows, words)) < 0.7
            prefix = rng.integers(1, 3, (rows, forced), "int32")
            prefix[:1, 1:] = 0
            found = search(*tables, mask, prefix)
            check(found, name, tables, mask, prefix)
        assert len(search._list_all_concrete_functions()) == 1

    @pytest.mark.slow
    def test_one_row_beside_a_batch_of_unknown_size(self, name):
        import tensorflow as tf

        @tf.function(
            autograph=False,
            input_signature=[
                tf.TensorSpec((None, 85, 4), "float64"),
                tf.TensorSpec((None, 85, 3), "float64"),
            ],
        )
        def search(*tables):
            step = whole_history(*tables)
            return SEARCHES[name](step, root_state([0]), 1)

        tables = history_tables(1)
        mask = np.ones((1, 3), bool)
        check(search(*tables), name, tables, mask, [()])


@pytest.mark.parametrize("name", ["greedy", "beam"])
@pytest.mark.skipif(BACKEND != "jax", reason="jax.jit")
def test_under_jax_jit(name):
    import jax

    @jax.jit
    def search(log_probs, weights, state, mask, prefix):
        step = whole_history(log_probs, weights)
        return SEARCHES[name](step, state, 5, mask, prefix)

    tables = history_tables(0, rows=5)
    mask = np.arange(3) < np.array([[1], [2], [3], [3], [2]])
    prefix = np.array([[1, 2], [1, 0], [0, 0], [2, 0], [3, 0]], "int32")
    found = search(*tables, root_state(range(5)), mask, prefix)
    check(found, name, tables, mask, prefix)
