"""CPU time of the parts of one training step of `fit`, by mode.

The model of `fit.py` (`works.FitWork`) on one batch of 64 x 14 random words:
embeddings and encoder; decoder; output layer and loss; Adam; and the whole
step. Each part is a graph of its own, forward and gradient, with given
cotangents, in TensorFlow's default mode and under XLA. The last two columns
are the bare matrix products of the same sizes, with `tanh` of additive
attention. The last line is the whole step in default mode, with XLA for the
decoder alone.

    python benchmarks/fit_parts.py [--rounds 9] [--vocabulary 8000]

All run in one process, by turns; times are seconds of all threads, medians.
"""

import argparse
import os
import statistics
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import keras
import tensorflow as tf
from draws import decoder_arrays
from draws import fit_weights
from gpu import made_up_batches
from sides import decoder_bare
from sides.fit_data import batches
from sides.fit_model import build
from works import DecoderWork
from works import FitWork

from keras_attention import SequenceCrossentropy
from keras_attention.ops.tokens import fused

BATCH, WORDS = 64, 14
MODES = ("default", "xla")


def with_gradient(function, data: list, layers: list):
    """Make a step: a function's gradient by data and layers.

    Args:
        function: Function from the data to a tensor or a list of them.
        data: Tensors.
        layers: Keras layers whose weights it reads.

    Returns:
        A function without arguments.
    """
    weights = [w.value for x in layers for w in x.trainable_variables]

    def step():
        floats = [x for x in data if x.dtype.is_floating]
        with tf.GradientTape() as tape:
            tape.watch(floats)
            results = tf.nest.flatten(function(*data))
        ones = [tf.ones_like(x) for x in results]
        return tape.gradient(results, [*floats, *weights], ones)

    return step


def whole_step(model, optimizer, data: tuple, told):
    """Make a step of training, a function without arguments."""
    loss, variables = SequenceCrossentropy(), model.trainable_variables

    def whole():
        with tf.GradientTape() as tape:
            result = loss(told, model(data, training=True))
        values = [variable.value for variable in variables]
        optimizer.apply(tape.gradient(result, values), variables)
        return result

    return whole


def model_parts(work: FitWork, mixed: bool = False) -> dict:
    """Make the parts of our step, functions without arguments by name.

    Args:
        work: Sizes.
        mixed: Whether XLA compiles the decoder by itself.
    """
    model = build(work, fit_weights(work))
    if mixed:
        call = model.decoder.call
        model.decoder.call = tf.function(call, jit_compile=True)
    arrays = made_up_batches(work.vocabulary, 1, BATCH, WORDS + 1)
    ((source, target), told), *_ = batches(arrays)
    source, target, told = map(tf.constant, (source, target, told))
    loss, adam = SequenceCrossentropy(), keras.optimizers.Adam(1e-3)
    adam.build(model.trainable_variables)
    memory, states, _ = model.encode(source)
    words = model.embed_target(target)
    outputs = model.decoder(words, memory, initial_state=states)
    every = [tf.ones(x.shape) for x in model.trainable_variables]

    def encode(source, target):
        memory, states, _ = model.encode(source, training=True)
        return [memory, *states, model.embed_target(target, training=True)]

    def decode(words, memory, *states):
        return model.decoder(
            words,
            memory,
            initial_state=list(states),
            sequence_mask=target != 0,
            memory_mask=source != 0,
        )

    embeddings = [model.source_embedding, model.target_embedding]
    return {
        "embeddings and encoder": with_gradient(
            encode, [source, target], [*embeddings, model.encoder]
        ),
        "decoder": with_gradient(
            decode, [words, memory, *states], [model.decoder]
        ),
        "output layer and loss": with_gradient(
            lambda x: loss(told, model.output_layer(x)),
            [outputs],
            [model.output_layer],
        ),
        "Adam": lambda: adam.apply(every, model.trainable_variables),
        "the whole step": whole_step(model, adam, (source, target), told),
    }


def bare_parts(work: FitWork) -> dict:
    """Make the products of encoder and output layer, by the parts' names."""
    units, size = work.units, work.size
    draw = tf.random.normal
    inputs, kernel = draw((BATCH * WORDS, size)), draw((size, 4 * units))
    h, recurrent = draw((BATCH, units)), draw((units, 4 * units))
    layer, seen = draw((size, work.vocabulary)), draw((BATCH * WORDS, size))

    def direction(inputs):
        gates = inputs @ kernel
        x = h
        for _ in range(WORDS):  # forward
            x = 0.1 * (x @ recurrent)[:, :units]
        dx, turned = draw((BATCH, 4 * units)), tf.transpose(recurrent)
        for _ in range(WORDS):  # backward
            dx = 0.1 * tf.tile(dx @ turned, (1, 4))
        states = draw((BATCH * WORDS, units))
        return [
            x,
            dx,
            tf.matmul(gates, kernel, transpose_b=True),
            tf.matmul(inputs, gates, transpose_a=True),
            tf.matmul(states, gates, transpose_a=True),
        ]

    def vocabulary():
        logits = seen @ layer
        return [
            tf.matmul(logits, layer, transpose_b=True),
            tf.matmul(seen, logits, transpose_a=True),
        ]

    return {
        "embeddings and encoder": lambda: [
            direction(inputs),
            direction(2.0 * inputs),
        ],
        "output layer and loss": vocabulary,
    }


def bare_decoder(work: FitWork, mode: str):
    """Make the products of the decoder: `run` of `sides/decoder_bare.py`."""
    sizes = DecoderWork(BATCH, WORDS, WORDS, 2 * work.units, work.size)
    return decoder_bare.make(sizes._asdict(), decoder_arrays(sizes), mode)[0]


def columns(work: FitWork) -> dict:
    """Return all functions to be timed, by column and by part."""
    found = {}
    for mode in MODES:
        bare = bare_parts(work)
        for name, parts in (("ours", model_parts(work)), ("bare", bare)):
            found[name, mode] = {
                part: tf.function(function, jit_compile=mode == "xla")
                for part, function in parts.items()
            }
        found["bare", mode]["decoder"] = bare_decoder(work, mode)
    whole = tf.function(model_parts(work, mixed=True)["the whole step"])
    found["ours", "default"]["its decoder under XLA"] = whole
    return found


def measure(every: dict, rounds: int) -> dict:
    """Run all functions by turns; return medians of CPU seconds."""
    times = {}
    for number in range(rounds + 1):  # the first traces and compiles
        for (side, mode), parts in every.items():
            for part, function in parts.items():
                start = time.process_time()
                with fused(mode == "xla"):
                    found = tf.nest.flatten(function())
                if found and found[0] is not None:
                    tf.convert_to_tensor(found[0]).numpy()
                if number:
                    spent = time.process_time() - start
                    times.setdefault((side, mode, part), []).append(spent)
    return {key: statistics.median(found) for key, found in times.items()}


def main(rounds: int, vocabulary: int):
    """Print the table, in milliseconds."""
    every = columns(FitWork(vocabulary))
    found = measure(every, rounds)
    print("| part | default | XLA | bare, default | bare, XLA |")
    print("| --- | --- | --- | --- | --- |")
    for part in every["ours", "default"]:
        keys = [
            (side, mode, part) for side in ("ours", "bare") for mode in MODES
        ]
        row = [f"{1000 * found[k]:.1f}" if k in found else "" for k in keys]
        print(f"| {part} | {' | '.join(row)} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--vocabulary", type=int, default=8000)
    main(**vars(parser.parse_args()))
