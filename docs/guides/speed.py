# %% [markdown]
# # Speed
#
# What is fast by itself, what you can switch on, and what does not help. Times
# on this page are those of the machine that built it, for sizes that are small;
# [the benchmarks](../hood/benchmarks.md) have real ones.

# %%
import time

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention

BATCH, STEPS, WORDS, SIZE = 32, 20, 20, 256
rng = np.random.default_rng(0)
sequence = rng.normal(size=(BATCH, STEPS, SIZE)).astype("float32")
memory = rng.normal(size=(BATCH, WORDS, SIZE)).astype("float32")


def make_decoder(cell=None, **options):
    keras.utils.set_random_seed(0)
    cell = cell or layers.LSTMCell(SIZE)
    cell = AttentionDecoderCell(cell, BahdanauAttention(SIZE), **options)
    decoder = AttentionDecoder(cell)
    decoder.build(sequence.shape, memory.shape)
    return decoder


def seconds_of_a_step(decoder, training=True, **options):
    """Time output and gradient, without the first call, which traces."""

    @tf.function(autograph=False, **options)
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(decoder(x, y, training=training) ** 2)
        variables = [v.value for v in decoder.trainable_variables]
        return loss, tape.gradient(loss, variables)

    _, gradients = step(sequence, memory)
    times = []
    for _ in range(5):
        began = time.perf_counter()
        step(sequence, memory)[0].numpy()
        times.append(time.perf_counter() - began)
    return min(times), gradients


# %% [markdown]
# ## The fast loop
#
# In training a decoder runs a loop with a gradient of its own: products of
# inputs are computed before it, gradients of weights after it, and little is
# kept. You get it with no flag, for `LSTMCell`, `GRUCell`, `SimpleRNNCell`,
# `LayerNormLSTMCell`, and for cells of your own whose [equations are
# registered](own_parts.md). With `training=False` it is the plain loop, which
# has all derivatives: the numbers are the same.

# %%
decoder = make_decoder()
fast, gradients = seconds_of_a_step(decoder)
plain, expected = seconds_of_a_step(decoder, training=False)
apart = max(
    np.abs(np.array(x) - np.array(y)).max() for x, y in zip(gradients, expected)
)
print(
    f"fast {fast:.3f} s, plain {plain:.3f} s; gradients differ by {apart:.1e}"
)

# %% [markdown]
# A cell without registered equations runs step by step. It is still recorded,
# but its own products are differentiated inside the loop.


# %%
class Unknown(layers.LSTMCell):
    """The same cell, as a class that nobody has registered equations for."""


unknown, _ = seconds_of_a_step(make_decoder(Unknown(SIZE)))
print(f"a cell without equations {unknown:.3f} s")

# %% [markdown]
# ## XLA
#
# `model.compile(..., jit_compile=True)` compiles the whole training step. A
# shape is compiled when it comes for the first time, which takes seconds, so
# use few shapes: `parallel_dataset(training=True)` gives full batches, padded to
# bucket boundaries. For short trainings it does not pay.

# %%
began = time.perf_counter()
xla, _ = seconds_of_a_step(decoder, jit_compile=True)
whole = time.perf_counter() - began
print(f"XLA {xla:.3f} s, after {whole - 5 * xla:.1f} s of compiling")

# %% [markdown]
# On TensorFlow the layers leave XLA off unless you ask; on JAX everything is
# compiled anyway.
#
# ## Mixed precision
#
# `keras.mixed_precision.set_dtype_policy("mixed_float16")` before you make the
# model, `"mixed_bfloat16"` on processors that have it. Softmax, losses, scores
# of products, and everything else that overflows are computed in float32 by
# themselves.

# %%
layer = BahdanauAttention(8, dtype="mixed_float16")
context, weights = layer(1e3 * sequence, memory, return_attention_scores=True)
print(context.dtype, "finite:", bool(np.isfinite(np.array(context)).all()))

# %% [markdown]
# ## The rest of a training step
#
# - **Vocabulary.** The output layer multiplies every word by `V` columns. At
#   8,000 words it is about a third of a step. Fewer pieces of words, or
#   `tie_embeddings=True`, help more than anything else.
# - **`input_feeding=False`** in the order `"luong"`: all queries are known before
#   anybody attends, so attention runs once after the loop, as one product. If
#   quality allows it, this is the fastest decoder.
# - **Long sources.** Additive attention costs `Tq Tv U` evaluations of `tanh`; a
#   product (`DotAttention`, `LuongGeneral`) is cheaper by far.
# - **A GPU's cuDNN** runs Keras' `LSTM` and `GRU` in the encoder by itself.

# %%
luong = make_decoder(order="luong", input_feeding=False)
print(f"attention after the loop {seconds_of_a_step(luong)[0]:.3f} s")

# %% [markdown]
# ## Search
#
# `generate` and `Translator` compile the whole search. Five beams do not tile
# the memory: they are five queries of one source. `Translator` sorts sentences
# by length, so that a batch has little padding. What it costs as lengths, beams
# and vocabularies grow is on [a page of its own](../hood/growth.md).
