# %% [markdown]
# # Speed
#
# What is fast by default, what you can switch on, and what does not help. Two
# variants run in turn here, and the median of their ratios is printed, so that
# other work of the machine slows both. Sizes are small; [the
# benchmarks](../hood/benchmarks.md) have real ones, against other libraries.

# %%
import statistics
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


def make_step(decoder, training=True, **options):
    """Return a function that computes outputs and all gradients."""

    @tf.function(autograph=False, **options)
    def step():
        with tf.GradientTape() as tape:
            outputs = decoder(sequence, memory, training=training)
            loss = tf.reduce_mean(outputs**2)
        variables = [v.value for v in decoder.trainable_variables]
        return tape.gradient(loss, variables)

    step()  # traces, and compiles
    return step


def seconds(step):
    began = time.perf_counter()
    step()[0].numpy()
    return time.perf_counter() - began


def ratio(step, other):
    return statistics.median(seconds(step) / seconds(other) for _ in range(9))


# %% [markdown]
# ## The fast loop
#
# In training a decoder runs a loop with a gradient of its own: products of
# inputs are computed before it, gradients of weights after it, and little is
# kept. You get it with no flag, for `LSTMCell`, `GRUCell`, `SimpleRNNCell`,
# `LayerNormLSTMCell`, and for cells of your own whose [equations are
# registered](own_parts.md). With `training=False` it is the plain loop, which
# has all derivatives. The numbers are the same.

# %%
decoder = make_decoder()
fast, plain = make_step(decoder), make_step(decoder, training=False)
apart = [np.abs(np.array(x - y)).max() for x, y in zip(fast(), plain())]
print(f"gradients differ by at most {max(apart):.1e}")
print(f"time of the fast loop: {ratio(fast, plain):.2f} of the plain one")


# %% [markdown]
# The difference grows with sizes and lengths, as the plain loop keeps every
# intermediate result. A cell that nobody has registered equations for gets the
# fast loop for attention alone; its own products are differentiated at each step.


# %%
class Unknown(layers.LSTMCell):
    """The same cell, as a class of its own."""


unknown = make_step(make_decoder(Unknown(SIZE)))
print(f"time with equations: {ratio(fast, unknown):.2f} of that without")

# %% [markdown]
# ### When not
#
# The fast loop has a first derivative only. A second one, such as a gradient
# penalty needs, raises an error, and so does forward mode: call the layer with
# `training=False`. On torch the plain loop trains, one step at a time in Python.
#
# ## XLA
#
# `model.compile(..., jit_compile=True)` compiles the whole training step. A
# shape is compiled when it comes for the first time, which takes seconds, so
# use few shapes: `parallel_dataset(training=True)` gives full batches, padded to
# bucket boundaries. For short trainings it does not pay.

# %%
began = time.perf_counter()
xla = make_step(decoder, jit_compile=True)
print(f"compiled in {time.perf_counter() - began:.0f} s")
print(f"time with XLA: {ratio(xla, fast):.2f} of that without")

# %% [markdown]
# Below 1 is faster. Measure it for your own sizes: XLA saves memory and what
# stands between products, but on some processors its products are slower. On
# TensorFlow the layers leave XLA off unless you ask; on JAX everything is compiled
# anyway.
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
# ## Memory that is kept
#
# A training step needs and frees hundreds of megabytes. By itself, Linux takes
# freed memory back, and gives it out again page by page, each filled with zeros:
# on a processor of 2021 without AVX-512 that was a third of the time. With oneDNN
# TensorFlow keeps it, but switches oneDNN on by itself only on processors that
# have AVX-512 VNNI. On others, say so before Python starts:
#
# ```sh
# TF_ENABLE_ONEDNN_OPTS=1 python train.py
# ```
#
# The C library can keep memory as well, for programs of any kind, torch too:
#
# ```sh
# MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=1000000000 python train.py
# ```
#
# Either takes 0.65 of the time there, and a tenth more memory at most;
# `benchmarks/freed_memory.py` measures both on your machine. TensorFlow logs
# "oneDNN custom operations are on" if they are.
#
# ## The first step
#
# On TensorFlow Keras traces a training step twice if the first trace creates
# variables, and those of the optimizer are created there. `Seq2Seq.fit` creates
# them before, and so takes 0.54 of the CPU time up to the end of the first step
# (`benchmarks/tracing.py`, AMD EPYC). With a model of your own, write this
# before `fit`:
#
# ```python
# model.optimizer.build(model.trainable_variables)
# ```
#
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

# %%
afterwards = make_step(make_decoder(order="luong", input_feeding=False))
print(f"time of attention after the loop: {ratio(afterwards, fast):.2f}")

# %% [markdown]
# ## Search
#
# `generate` and `Translator` compile the whole search. Five beams do not tile
# the memory: they are five queries of one source. `Translator` sorts sentences
# by length, so that a batch has little padding. What it costs as lengths, beams
# and vocabularies grow is on [a page of its own](../hood/growth.md).
#
# In a `tf.function` of your own, say `autograph=False`, for a search as for a
# training step: nothing here has control flow of Python over tensors, and to
# rewrite all code in search of it, AutoGraph takes up to ten times as long as the
# tracing itself.
#
# In a large vocabulary most of a step is the product with all words. A lexical
# shortlist leaves the few that can translate the source: for each of its words
# those that have attended to it most often in training, and the most frequent
# words of the language.
#
# ```python
# batches = parallel_dataset(*files, *tokenizers, batch_size=64)
# shortlist = Shortlist.train(model, batches, candidates=30, always=100)
# translator = Translator(model, *tokenizers, search, shortlist=shortlist)
# ```
#
# `save` and `export` write it with the translator. It pays from some ten
# thousand words on: with 8,000 words and large batches greedy search gains
# nothing. `benchmarks/shortlist.py` measures time and BLEU of your translator.
#
# ## A GPU
#
# The layers need no change for it. Does the backend see the card?
#
# ```sh
# pip install "tensorflow[and-cuda]"
# python -c "import tensorflow as tf; print(tf.config.list_physical_devices('GPU'))"
# ```
#
# On TensorFlow cuDNN runs Keras' `LSTM` and `GRU` in the encoder by itself. On JAX
# everything is one program of XLA; install it with `pip install "jax[cuda13]"`. There
# TF32, which rounds the factors of products to ten bits, is switched on by hand; the
# losses of the first steps stay equal within a hundredth:
#
# ```sh
# export KERAS_BACKEND=jax JAX_DEFAULT_MATMUL_PRECISION=tensorfloat32
# python -m keras_attention train train.tsv --validation dev.tsv --output sounds
# ```
#
# On an NVIDIA H100 80GB HBM3 with JAX and TF32, `fit` of a model of 512 units with
# 8,000 words learns 229,000 target words a second, 10.0 times as many as the same
# model in torch, and 5.3 times as many as after `torch.compile`; five beams write
# 87,000 words a second, 3.7 and 4.4 times as many (`benchmarks/gpu.py`). TensorFlow
# on a GPU has not been measured. A step of a decoder is small work for such a card,
# so take large batches.
