# %% [markdown]
# # Which mechanism for which task
#
# A mechanism is a *score* (how well do query and key match?) and an *alignment*
# (how do scores become weights?). Every score takes every alignment:
# `BahdanauAttention(256, alignment=Monotonic())`. Start with the default, and
# leave it for a reason.
#
# | your question | answer |
# | --- | --- |
# | I have no idea yet | `BahdanauAttention(units)`: learns copying, reversing and sorting below; bounded scores train well |
# | Are query and key of one size, and is speed all? | `DotAttention(scale="sqrt")`: no weights, one product; then `LuongGeneral(use_scale="sqrt")`, which also joins different sizes |
# | Does the model look at the same place again and again, or skip words? | `CoverageAttention(units, coverage_loss=1.0)`: it knows where it has been |
# | Are source and target in the same order: speech, spelling, notation? | `LocationAwareAttention` (knows where it was), `alignment=ForwardAlignment()` (stays, or goes on by one), `GaussianMixtureAttention` (windows that move to the right), `DynamicConvolutionAttention` (position alone, filters of the query's own) |
# | Does every step of the output use the same part of the input, or the next one? | `alignment=Monotonic(stepwise=True)`, or `ForwardAlignment(transition_agent=True)`, which decides when to move |
# | Must output start before the input has ended? | `alignment=Monotonic()`, trained soft and used `"hard"`; `ChunkwiseAttention` also looks back over a few positions |
# | Will sources be longer than any in training? | `ChunkwiseAttention` goes on from where it stopped, `GaussianMixtureAttention` moves on: at four times the length 2% and 6% of the characters of `examples/read_morse.py` were wrong, and 76% with `BahdanauAttention` |
# | Are positions roughly in step? | `alignment=LocalMonotonic(window)`: nothing outside of the window can be read |
# | Is the source long, and attention near to where it last was? | `AttentionDecoderCell(..., attention_window=(5, 20))`: at inference 5 positions before the last one and 20 after it; with most scores, and softmax, sparsemax or entmax15, the time of a step then does not grow with the source |
# | Is only a part of a long source relevant, anywhere? | `alignment=LocalPredictive(window)`: the query predicts where |
# | Shall weights be exactly 0, to be read by people? | `alignment="sparsemax"`, or `"entmax15"`, which gives up less |
# | Do lengths of vectors mean nothing? | `CosineAttention(beta=...)` |
# | Is it a regression over points? | `KernelAttention(bandwidth=...)` |
# | Does only the position matter, not what stands there? | `LocationAttention(max_length)` |
# | Is it spelling, sounds or inflection, with some thousand pairs? | the default, in Luong's order: [`keras_attention train`](../train_command.md) takes the others by `--attention` |
# | Several relations at once? | `MultiHead(BahdanauAttention(units), num_heads=4)` |
# | Does a decoder of real sentences learn slowly? | `AttentionDecoderCell(..., order="luong", attention_layer_size=...)`: it reads its last word before it attends, which brought 2 BLEU in the first epochs of a [translator](../quality.md) |
#
# ## Measured
#
# `examples/reverse_and_sort.py` trains each of them on three tasks for 200
# batches. The numbers are sentences without a mistake, of 500 new ones:
#
# | score, with softmax | copy | reverse | sort |
# | --- | --- | --- | --- |
# | `BahdanauAttention` | 99% | 99% | 99% |
# | `LuongGeneral` | 99% | 98% | 73% |
# | `LuongGeneral(use_scale="sqrt")` | 100% | 100% | 97% |
# | `DotAttention` | 100% | 100% | 71% |
# | `DotAttention(scale="sqrt")` | 100% | 100% | 98% |
# | `CosineAttention` | 100% | 100% | 96% |
# | `KernelAttention` | 100% | 100% | 98% |
# | `LocationAttention` | 100% | 100% | 92% |
# | `LocationAwareAttention` | 100% | 100% | 98% |
# | `DynamicConvolutionAttention` | 100% | 100% | 91% |
# | `CoverageAttention` | 100% | 100% | 100% |
# | `MultiHead` of `BahdanauAttention` | 95% | 95% | 98% |
# | `ChunkwiseAttention` of 3 positions, soft | 100% | 82% | 95% |
# | `GaussianMixtureAttention` | 100% | 0% | 99% |
#
# | alignment, with Bahdanau's score | copy | reverse | sort |
# | --- | --- | --- | --- |
# | `"sparsemax"` | 100% | 100% | 76% |
# | `"entmax15"` | 100% | 100% | 98% |
# | `Monotonic` | 100% | 0% | 59% |
# | `Monotonic(stepwise=True)` | 100% | 0% | 1% |
# | `ForwardAlignment` | 100% | 0% | 1% |
# | `ForwardAlignment(transition_agent=True)` | 100% | 0% | 0% |
# | `LocalMonotonic` | 100% | 0% | 0% |
# | `LocalPredictive` | 100% | 100% | 0% |
#
# Products over the root of the query's size learn to sort in these batches, and
# those without do not. With the same division `LuongGeneral` is level with
# `BahdanauAttention` after six epochs of a
# [translator](../quality.md#what-matters), where it has learned little without.
# What only moves to the right cannot reverse; a chunk of three positions lets a
# soft `ChunkwiseAttention` do it often. What sorts without reading the
# letters remembers them: look at the pictures in the [gallery](../gallery.md).
#
# ## Try it
#
# Reversing, with two mechanisms. The encoder is only an embedding of letters
# and of positions, so the decoder has to find each letter by attention.

# %%
import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import layers

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import Monotonic
from keras_attention import SequenceCrossentropy
from keras_attention import plot_attention

LENGTH, FIRST, SIZE, UNITS = 8, 4, 30, 32
rng = np.random.default_rng(0)
source = FIRST + rng.permuted(np.tile(np.arange(26), (9000, 1)), axis=1)
source = source[:, :LENGTH]
target = np.concatenate([np.full((9000, 1), 2), source[:, ::-1]], axis=1)


class WithPlaces(layers.Layer):
    """Adds a learned vector to each position."""

    def build(self, shape):
        self.places = self.add_weight(
            shape=shape[1:], initializer="random_normal"
        )

    def call(self, letters):
        return letters + 20 * self.places


def learn(attention):
    """Train on reversing; return the share of right answers, and weights."""
    keras.utils.set_random_seed(0)
    read = keras.Input((LENGTH,), dtype="int32")
    write = keras.Input((LENGTH,), dtype="int32")

    def embed(ids):
        return layers.Embedding(
            SIZE, UNITS, keras.initializers.RandomNormal(0, 1)
        )(ids)

    cell = AttentionDecoderCell(
        layers.GRUCell(UNITS), attention, order="luong", input_feeding=False
    )
    outputs, weights = AttentionDecoder(cell, return_attention_scores=True)(
        embed(write), WithPlaces()(embed(read))
    )
    logits = layers.Dense(SIZE)(outputs)
    model = keras.Model([read, write], logits)
    model.compile(
        keras.optimizers.Adam(0.01, global_clipnorm=1.0),
        SequenceCrossentropy(),
        jit_compile=False,
    )
    train, test = slice(0, 8800), slice(8800, None)
    inputs = source, target[:, :-1]
    model.fit([x[train] for x in inputs], target[train, 1:], 64, verbose=0)
    looking = keras.Model(model.inputs, [logits, weights])
    logits, weights = map(np.array, looking([x[test] for x in inputs]))
    right = logits.argmax(-1) == target[test, 1:]
    return right.all(axis=1).mean(), weights[0]


results = {
    "softmax": learn(BahdanauAttention(UNITS)),
    "Monotonic": learn(BahdanauAttention(UNITS, alignment=Monotonic())),
}
for name, (right, _) in results.items():
    print(f"{name:10} {right:.0%} of the sentences are right")

# %% alt="Two matrices: with softmax the weights run from the upper right to the lower left, with Monotonic they are thin, and strongest at the upper right."
letters = [chr(ord("a") + i - FIRST) for i in source[8800]]
plot_attention(
    [weights for _, weights in results.values()],
    [letters] * 2,
    [letters[::-1]] * 2,
    titles=list(results),
)
plt.show()

# %% [markdown]
# The first letter to write is the last one of the source. Attention that went
# there cannot come back.
#
# To add a mechanism of your own, see [your own parts](own_parts.md). Shapes,
# formulas and papers are in the [reference](../reference/attention.md).
