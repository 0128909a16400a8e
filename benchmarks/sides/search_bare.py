"""A lower bound of a beam search: its matrix products and `tanh`.

The products of all beams and the `tanh` of additive attention, in Luong's
order: keys once; in each step word, context and state times the cell's
kernels, the query, `tanh` of keys plus query times the score's vector, the
weighted sum of the memory, the logits, and their maximum. There are no gates,
no softmax and no choice of tokens; products are connected by sums.
"""

import tensorflow as tf
from sides.serve import serve
from works import SearchWork


def make(work: dict, arrays: dict, mode: str):
    """Make the products of one search."""
    work = SearchWork(**work)
    batch, beams, u = work.batch, work.beams, work.units
    w = {name: tf.constant(array) for name, array in arrays.items()}
    rows = tf.range(batch * beams) % work.vocabulary
    words = tf.gather(w["embeddings"], rows)

    def of_sentences(x):
        """Split the axis of rows into sources and beams: `(B, K, U)`."""
        return tf.reshape(x, (batch, beams, u))

    @tf.function(jit_compile=mode == "xla")
    def search(w, words):
        keys = tf.tensordot(w["memory"], w["key_kernel"], 1)[:, None]

        def body(t, h, context, best):
            x = tf.concat([words, context], -1)
            gates = x @ w["kernel_0"] + h @ w["recurrent_kernel_0"]
            h = 0.1 * tf.add_n(tf.split(gates, 4, -1))
            query = of_sentences(h @ w["query_kernel"])[:, :, None]
            th = tf.tanh(keys + query)  # (B, K, Tv, U)
            scores = tf.linalg.matvec(th, w["score_vector"])
            context = tf.reshape(scores @ w["memory"], (-1, u))
            logits = h @ w["output_kernel"]
            best = tf.maximum(best, tf.reduce_max(logits, -1))
            return t + 1, h, context, best

        zeros = tf.zeros((batch * beams, u))
        return tf.while_loop(
            lambda t, *_: t < work.steps,
            body,
            (0, zeros, zeros, tf.zeros(batch * beams)),
            maximum_iterations=work.steps,
        )[-1]

    def run():
        return {"best": search(w, words).numpy()}

    return run, run


if __name__ == "__main__":
    serve(make)
