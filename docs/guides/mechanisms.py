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
# | Shall each word be read at one position, and its probability be that of all alignments? | [`HardAttention`](#exact-hard-attention), an output in place of an attention |
# | Is it spelling, sounds or inflection, with some thousand pairs? | the default, in Luong's order: [`keras_attention train`](../train_command.md) takes the others by `--attention`, which [differ little](#sounds-of-five-languages) |
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
# ## Exact hard attention
#
# Soft attention mixes positions, and says a word from the mixture. With
# `HardAttention` each position says a word, and the words are mixed:
#
#     p(y_t | y_<t) = sum_j p(a_t = j | y_<t) p(y_t | a_t = j)
#
# The loss is then exactly that of the sum over all alignments `a_1 ... a_T`: no
# sampling, no approximation. With `order=0` each position is drawn by itself;
# with `order=1` it depends on the one before, by the score and a learned bias
# for each move; with `monotonic=True` none goes back. The decoder has no
# attention: the output looks from its state at every position.
#
# Take it where each output belongs to one place of the source, as sounds do to
# letters, and where you want to know that place: `attend` gives `p(a_t | y_<t)`
# before the word is known, and `align` gives `p(a_t | y, x)`, given the whole
# text. Leave it where a word needs several places at once, or where the
# vocabulary is large: see below.
#
# Again reversing, now by whole models. Of each letter we know where it stands,
# so that the alignment can be compared with the truth: the alignment error rate
# is 0 without an error, and 1 if all is wrong.

# %%
from keras_attention import HardAttention
from keras_attention import LuongGeneral
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import StateBridge
from keras_attention import alignment_error_rate

train, test = slice(0, 8800), slice(8800, None)
truth = np.tile(np.eye(LENGTH, dtype=int)[::-1], (200, 1, 1))


def teach(attention, output=None):
    """Train a model with an attention, or with an output that looks."""
    keras.utils.set_random_seed(0)
    cell = AttentionDecoderCell(layers.GRUCell(UNITS), attention, order="luong")
    model = Seq2Seq(
        source_vocabulary_size=SIZE,
        target_vocabulary_size=SIZE,
        embedding_dim=UNITS,
        encoder=RecurrentEncoder(UNITS // 2, cell="gru"),
        bridge=StateBridge(),
        decoder=AttentionDecoder(cell),
        output=output,
    )
    model.compile(
        keras.optimizers.Adam(0.01, global_clipnorm=1.0),
        SequenceCrossentropy(),
        jit_compile=False,
    )
    inputs = source[train], target[train, :-1]
    model.fit(inputs, target[train, 1:], 64, epochs=3, verbose=0)
    return model


models = {
    "soft": teach(BahdanauAttention(UNITS)),
    "hard": teach(None, HardAttention(LuongGeneral(), UNITS)),
}
inputs, shown = (source[test], target[test, :-1]), {}
for name, model in models.items():
    words = np.array(model(inputs)).argmax(-1)
    right = (words == target[test, 1:]).all(axis=1).mean()
    shown[name] = np.array(model.attend(*inputs)[0])
    print(f"{name}: {right:.0%} of the sentences are right")
hard = models["hard"]
known = hard.readout.align(hard, source[test], target[test])
shown["hard, text known"] = np.array(known)
for name, weights in shown.items():
    error = alignment_error_rate(weights, truth)
    print(f"{name}: alignment error rate {error:.2f}")

# %% alt="Three matrices, soft, hard, and hard with the text known: in each the weights run from the upper right to the lower left, one position for each letter."
plot_attention(
    [weights[0] for weights in shown.values()],
    [letters] * 3,
    [letters[::-1]] * 3,
    titles=list(shown),
)
plt.show()

# %% [markdown]
# Both find the letters, and the hard model gets more sentences right. Soft attention
# does so in Luong's order alone: without `order="luong"` it attends before the
# decoder reads its last word, writes as well, and its alignment error rate is
# about 0.9. A hard alignment is that of the words in either order.
#
# **Cost.** All words are scored from each position, `Tv` times as often as by a
# dense output, and once more for the gradient. `python
# benchmarks/hard_attention_step.py` compares the CPU time of a training step
# with that of additive attention, 64 x 30 x 30, 256 units, TensorFlow without XLA
# on a busy machine: 1.5 times as much (order 0) and 1.6 (order 1) with a
# vocabulary of 100, and 17 with 8,000. With many words take few `units` here, or
# characters in place of words.
#
# **Streams.** `model.stream()` refuses it, also where it is monotonic: the
# probability of a move is normalized over all positions that still come, so a
# position that comes later changes it. `Monotonic(mode="hard")` decides by one
# position alone.
#
# **Does it train?** `python benchmarks/hard_attention.py data/ice_g2p/ --kinds
# monotonic additive` learns to pronounce Icelandic from 800 words, and with
# `data/g2p2020/hun_` and so on other languages from 3,600. Wrong words, of 100 in
# `test`, greedily; the epoch is that with the most right words in `dev`:
#
# | seed | 0 | 1 | 2 | 3 | 4 |
# | --- | --- | --- | --- | --- | --- |
# | Icelandic, monotonic | 20 | 24 | 20 | 26 | 26 |
# | Icelandic, additive | 33 | 37 | 33 | 33 | 31 |
# | Hungarian, monotonic | 5.1 | 5.3 | 5.3 | 5.6 | 6.4 |
# | Hungarian, additive | 5.8 | 6.0 | 5.3 | 6.9 | 5.3 |
# | French, monotonic | 8.2 | 7.6 | 7.1 | 8.0 | 9.3 |
# | French, additive | 7.3 | 7.6 | 6.7 | 8.7 | 8.7 |
# | Greek, monotonic | 17.6 | 15.1 | 19.3 | 19.8 | 17.8 |
# | Greek, additive | 19.3 | 17.3 | 18.9 | 19.3 | 17.8 |
#
# No seed collapses. With few words hard attention is far better, with more it is
# level: 10.5 and 10.7 are the means of the three larger languages. A share of 100
# words has a standard error of about 4, one of 450 of about 1 to 2.
#
# ## Sounds of five languages
#
# `python examples/pronounce.py --data g2p2020 --language ice --attention forward`
# trains the recipe for [spelling and sounds](../train_command.md) with another
# mechanism, here on 3,600 words a language. Wrong words of 100 in test, read once:
#
# | `--attention` | Adyghe | Greek | Icelandic | Korean | Lithuanian | mean |
# | --- | ---: | ---: | ---: | ---: | ---: | ---: |
# | `additive`, three seeds | 27.0 | 15.1 | 9.9 | 26.7 | 19.7 | 19.7 |
# | `general` | 28.0 | 16.4 | 11.6 | 27.1 | 19.8 | 20.6 |
# | `location_aware` | 26.4 | 17.1 | 9.8 | 25.3 | 18.7 | 19.5 |
# | `entmax15` | 26.9 | 16.7 | 9.8 | 26.7 | 20.7 | 20.1 |
# | `monotonic` | 26.9 | 17.8 | 10.4 | 27.3 | 20.4 | 20.6 |
# | `forward` | 29.6 | 16.2 | 11.6 | 28.2 | 20.4 | 21.2 |
# | `chunkwise` | 28.9 | 17.1 | 10.0 | 27.1 | 19.6 | 20.5 |
# | `hard_monotonic` | | 16.2 | 9.3 | 26.0 | 18.9 | |
#
# The first row is the mean of three seeds, which differ by 0.3 to 0.7; the others are
# one training each, of 4 to 7 CPU minutes. A share of 450 words has a standard error
# of 1.4 (Icelandic) to 2.1. So the choice matters little here. Only `forward` is
# behind in the mean: its position goes on by one letter a sound at most, and some
# letters are silent. In Greek, Icelandic, Korean and Lithuanian the mean of
# `hard_monotonic` is 17.6, of `location_aware` 17.7 and of `additive` 17.9, less than
# the seeds differ. Four of them as one `Ensemble` (`entmax15`, `monotonic`,
# `chunkwise`, `forward`) have 24.0, 15.3, 8.9, 19.1 and 19.8 on dev, where the best
# of the four have 24.2, 14.7, 9.8, 18.4 and 20.9.
#
# What they look at is not the same. Here is a word that none was trained on,
# `hestamaður`, a horseman:
#
# ![Six matrices of attention for an Icelandic word of ten letters: all follow the diagonal. Entmax15 and hard monotonic attention have one white square a row; forward, monotonic and chunkwise attention share some rows between two letters, and the last two begin before the word](../mechanisms_sounds.png)
#
# ```python
# from keras_attention import Translator
# from keras_attention import plot_attention_batch
#
# names = "additive", "entmax15", "forward", "monotonic", "chunkwise", "hard_monotonic"
# folders = ["outputs/pronounce/ice_0"]
# folders += [f"outputs/pronounce/ice_{name}_0" for name in names[1:]]
# found = [
#     Translator.load(folder)(["hestamaður"], return_attention_scores=True)
#     for folder in folders
# ]
# plot_attention_batch(
#     [one.attention[0] for one in found],
#     [one.source_tokens[0] for one in found],
#     [one.target_tokens[0] for one in found],
#     columns=3,
#     titles=list(names),
# )
# ```
#
# Soft monotonic weights may stop anywhere before the letter, as the state of a
# bidirectional encoder has read it too: take additive or hard attention where the
# picture is the purpose.
#
# To add a mechanism of your own, see [your own parts](own_parts.md). Shapes,
# formulas and papers are in the [reference](../reference/attention.md).
