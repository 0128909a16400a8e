"""A training step of TensorFlow Addons' decoder, in a `tf.function`."""

import tensorflow as tf
import tensorflow_addons as tfa
from sides.serve import serve
from works import DecoderWork

CELLS = {"lstm": tf.keras.layers.LSTMCell, "gru": tf.keras.layers.GRUCell}


def wrap(work, arrays, cells):
    """Make an `AttentionWrapper` with given weights.

    Args:
        work: Sizes and kinds of its layers, a `DecoderWork`.
        arrays: Weights, by the names of `works.py`.
        cells: The Keras cells, bottom first.

    Returns:
        The wrapper, its attention, and the variables by these names.
    """
    additive = work.score == "additive"
    if additive:
        attention = tfa.seq2seq.BahdanauAttention(work.layer or work.units)
    else:
        attention = tfa.seq2seq.LuongAttention(work.units)
    wrapper = tfa.seq2seq.AttentionWrapper(
        tf.keras.layers.StackedRNNCells(cells) if len(cells) > 1 else cells[0],
        attention,
        attention_layer_size=work.layer,
        output_attention=work.output == "attention",
    )
    attention(tf.zeros((1, 2, work.units)), setup_memory=True)
    word = tf.zeros((1, work.size))  # one step creates the variables
    wrapper(word, wrapper.get_initial_state(word))
    variables = {}
    for i, cell in enumerate(cells):
        for name, variable in zip(
            ("kernel", "recurrent_kernel", "bias"), cell.variables, strict=True
        ):
            variables[f"{name}_{i}"] = variable
    if additive:
        variables["query_kernel"] = attention.query_layer.kernel
        variables["key_kernel"] = attention.memory_layer.kernel
        variables["score_vector"] = attention.attention_v
    else:
        variables["score_kernel"] = attention.memory_layer.kernel
    if work.layer:
        kernel = wrapper._attention_layers[0].kernel
        variables["attention_kernel"] = kernel
    for name, variable in variables.items():
        value = arrays[name]  # TFA's score kernel is ours, transposed
        variable.assign(value.T if name == "score_kernel" else value)
    return wrapper, attention, variables


def make(work: dict, arrays: dict, mode: str):  # noqa: ARG001 (it has one mode)
    """Make the step: outputs, and gradients of inputs and weights."""
    work = DecoderWork(**work)
    cells = [CELLS[work.cell](work.units) for _ in range(work.depth)]
    wrapper, attention, variables = wrap(work, arrays, cells)
    sampler = tfa.seq2seq.TrainingSampler()
    decoder = tfa.seq2seq.BasicDecoder(wrapper, sampler)

    @tf.function
    def step(inputs, memory, cotangent):
        with tf.GradientTape() as tape:
            tape.watch([inputs, memory])
            attention(memory, setup_memory=True)
            state = wrapper.get_initial_state(inputs)
            found, _, _ = decoder(inputs, initial_state=state)
            loss = tf.reduce_sum(found.rnn_output * cotangent)
        trained = {"inputs": inputs, "memory": memory, **variables}
        gradients = tape.gradient(loss, trained)
        return {"outputs": found.rnn_output, **gradients}

    names = ("inputs", "memory", "cotangent")
    data = [tf.constant(arrays[name]) for name in names]

    def run():
        return step(*data)

    def numbers():
        found = run()
        if "score_kernel" in found:
            found["score_kernel"] = tf.transpose(found["score_kernel"])
        return found

    return run, numbers


if __name__ == "__main__":
    serve(make)
