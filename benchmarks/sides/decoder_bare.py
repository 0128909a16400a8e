"""A lower bound of a decoder's training step: its products and `tanh`.

The matrix products of an LSTM with additive attention, in Bahdanau's order,
with their gradients, and `tanh` forward and backward. There are no gates, no
softmax and no masks; products are connected by sums.

Forward: keys and inputs, once for all steps; in each step the state times
`[recurrent; query]`, `tanh` of keys plus query, times the score's vector, the
weighted sum of the memory, and the context times its part of the kernel.

Backward: in each step the same products transposed, and `tanh` again with its
derivative, summed over positions for the query and over steps for the keys.
The gradient of a weight is one product over all steps, after the loop.
"""

import tensorflow as tf
from sides.serve import serve
from works import DecoderWork


def forward(work, inputs, memory, w):
    """Run the forward loop; return the tensors that the gradient needs."""
    u = work.units
    keys = tf.tensordot(memory, w["key_kernel"], 1)
    projected = tf.tensordot(inputs, w["of_inputs"], 1)  # (T, B, 4U)

    def body(t, h, hs, queries, scores, contexts):
        hs = hs.write(t, h)
        hq = h @ w["recurrent"]  # (B, 5U)
        query = hq[:, 4 * u :]
        score = tf.linalg.matvec(tf.tanh(keys + query[:, None]), w["vector"])
        context = tf.linalg.matvec(memory, score, transpose_a=True)
        gates = projected[t] + hq[:, : 4 * u] + context @ w["of_context"]
        h = 0.1 * tf.add_n(tf.split(gates, 4, -1))
        writes = zip(
            (queries, scores, contexts), (query, score, context), strict=True
        )
        return t + 1, h, hs, *(array.write(t, x) for array, x in writes)

    arrays = [tf.TensorArray(tf.float32, work.steps) for _ in range(4)]
    start = 0, tf.zeros((work.batch, u)), *arrays
    found = tf.while_loop(
        lambda t, *_: t < work.steps,
        body,
        start,
        maximum_iterations=work.steps,
    )
    return keys, *(array.stack() for array in found[2:])


def backward(work, keys, queries, memory, cotangent, w):
    """Run the backward loop; return the gradients of each step."""
    recurrent, of_context = (
        tf.transpose(w[name]) for name in ("recurrent", "of_context")
    )

    def body(t, dh, dkeys, dvector, dhqs, dcontexts):
        dgates = tf.concat([dh] * 4, -1)
        dcontext = dgates @ of_context
        dscore = tf.linalg.matvec(memory, dcontext)
        th = tf.tanh(keys + queries[t][:, None])
        dth = dscore[..., None] * w["vector"] * (1 - th * th)
        dvector += tf.einsum("bsu,bs->u", th, dscore)
        dhq = tf.concat([dgates, tf.reduce_sum(dth, 1)], -1)
        dh = 0.1 * (dhq @ recurrent) + cotangent[t]
        return (
            t - 1,
            dh,
            dkeys + dth,
            dvector,
            dhqs.write(t, dhq),
            dcontexts.write(t, dcontext),
        )

    arrays = [tf.TensorArray(tf.float32, work.steps) for _ in range(2)]
    start = tf.zeros_like(cotangent[0]), tf.zeros_like(keys), w["vector"]
    found = tf.while_loop(
        lambda t, *_: t >= 0,
        body,
        (work.steps - 1, *start, *arrays),
        maximum_iterations=work.steps,
    )
    return *found[2:4], *(array.stack() for array in found[4:])


def make(work: dict, arrays: dict, mode: str):
    """Make the step: forward, backward, and the gradients over all steps."""
    work = DecoderWork(**work)
    size, u = work.size, work.units
    x = {name: tf.constant(array) for name, array in arrays.items()}
    kernels = x["recurrent_kernel_0"], x["query_kernel"]
    weights = {
        "recurrent": tf.concat(kernels, -1),
        "of_inputs": x["kernel_0"][:size],
        "of_context": x["kernel_0"][size:],
        "key_kernel": x["key_kernel"],
        "vector": x["score_vector"],
    }
    inputs, cotangent = (
        tf.transpose(x[name], [1, 0, 2]) for name in ("inputs", "cotangent")
    )

    def to_inputs(dy, kernel):
        """Compute the gradient of a kernel's inputs, in one product."""
        return tf.tensordot(dy, kernel, [[2], [1]])

    def over_steps(x, dy):
        """Compute the gradient of a kernel, in one product over all steps."""
        x, dy = (tf.reshape(z, (-1, z.shape[-1])) for z in (x, dy))
        return tf.matmul(x, dy, transpose_a=True)

    @tf.function(jit_compile=mode == "xla")
    def step(inputs, memory, cotangent, w):
        saved = forward(work, inputs, memory, w)
        keys, hs, queries, scores, contexts = saved
        dkeys, dvector, dhqs, dcontexts = backward(
            work, keys, queries, memory, cotangent, w
        )
        dgates = dhqs[..., : 4 * u]
        return {
            "inputs": to_inputs(dgates, w["of_inputs"]),
            "memory": tf.einsum("tbs,tbd->bsd", scores, dcontexts)
            + to_inputs(dkeys, w["key_kernel"]),
            "recurrent": over_steps(hs, dhqs),
            "of_inputs": over_steps(inputs, dgates),
            "of_context": over_steps(contexts, dgates),
            "key_kernel": over_steps(memory, dkeys),
            "vector": dvector,
        }

    def run():
        return step(inputs, x["memory"], cotangent, weights)

    return run, run


if __name__ == "__main__":
    serve(make)
