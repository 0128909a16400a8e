# %% [markdown]
# # What attention looks at
#
# A decoder that attends can be asked, for every word it writes, where it has
# looked. This page draws it, measures it, compares it with alignments that are
# known to be right, and teaches it.
#
# The language is made up, with a known alignment: adjectives come before the
# noun in the source, and after it in the target.

# %%
import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import layers

from keras_attention import AttentionCoverage
from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import AttentionEntropy
from keras_attention import BahdanauAttention
from keras_attention import GuidedAlignmentLoss
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import alignment_error_rate
from keras_attention import plot_attention
from keras_attention import plot_attention_batch

NOUNS = "cat dog tree book boat bird".split()
ADJECTIVES = "red old big small".split()
FRENCH = dict(
    zip(
        NOUNS + ADJECTIVES,
        "chat chien arbre livre bateau oiseau rouge vieux grand petit".split(),
    )
)
ENGLISH = ["", "?", "<s>", "</s>", *FRENCH]
WORDS = ["", "?", "<s>", "</s>", *FRENCH.values()]


def sentence(rng):
    """Return ids of a source, of its target, and the links between them."""
    source, target, links = [2], [2], []
    for _ in range(3):
        noun = ENGLISH.index(rng.choice(NOUNS))
        here = len(source)
        if rng.random() < 0.6:
            adjective = ENGLISH.index(rng.choice(ADJECTIVES))
            source += [adjective, noun]
            target += [noun, adjective]
            links += [here + 1, here]
        else:
            source.append(noun)
            target.append(noun)
            links.append(here)
    return [*source, 3], [*target, 3], [*links, len(source)]


def batch(count, seed):
    rng = np.random.default_rng(seed)
    source = np.zeros((count, 8), "int32")
    target = np.zeros((count, 8), "int32")
    gold = np.zeros((count, 7, 8), "float32")
    for row in range(count):
        x, y, links = sentence(rng)
        source[row, : len(x)], target[row, : len(y)] = x, y
        gold[row, range(len(links)), links] = 1
    return (source, target[:, :-1]), target[:, 1:], gold


# %% [markdown]
# ## A model that returns its weights
#
# With `return_attention_scores=True` a `Seq2Seq` returns `(logits, weights)`,
# so that weights can be measured, and trained. Keras needs one loss for each
# output. With `loss=SequenceCrossentropy()` alone it raises `KeyError: The path:
# (0,) in the loss argument, can't be found`. `loss=[SequenceCrossentropy(), None]`
# trains the logits only.


# %%
def make_model(loss):
    keras.utils.set_random_seed(3)
    cell = AttentionDecoderCell(layers.GRUCell(32), BahdanauAttention(32))
    model = Seq2Seq(
        source_vocabulary_size=len(ENGLISH),
        target_vocabulary_size=len(WORDS),
        embedding_dim=16,
        encoder=RecurrentEncoder(16, cell="gru"),
        bridge=StateBridge(),
        decoder=AttentionDecoder(cell),
        return_attention_scores=True,
    )
    model.compile(
        keras.optimizers.Adam(0.01),
        loss=[SequenceCrossentropy(), loss],
        metrics=[[], [AttentionEntropy(), AttentionCoverage()]],
    )
    return model


inputs, words, gold = batch(640, seed=0)
test_inputs, test_words, test_gold = batch(200, seed=1)

model = make_model(None)
history = model.fit(inputs, (words, gold), epochs=4, verbose=0)
for name, values in history.history.items():
    print(f"{name:30}", *(f"{x:6.3f}" for x in values))

# %% [markdown]
# *Entropy* falls as attention makes up its mind: 0 is one position, the
# logarithm of the length is all alike. *Coverage* says how much of the source
# has been looked at.
#
# ## Draw it


# %% alt="Four matrices of attention. A row is a French word, a column an English one; white squares show which belong together, crossed where an adjective changes places."
def tokens(ids, names):
    return [[names[i] for i in row] for row in ids]


logits, weights = model(test_inputs)
weights = np.array(weights)
axes = plot_attention_batch(
    weights[:4],
    tokens(test_inputs[0][:4], ENGLISH),
    tokens(test_words[:4], WORDS),
)
plt.show()

# %% [markdown]
# ## Compare it
#
# The alignment error rate is 0 if every word has most weight on its own source
# word, and 1 if none has. Padding is masked, and so are the ends.

# %%
real = (test_words > 3)[:, :, None] & (test_inputs[0] > 3)[:, None]
before = alignment_error_rate(weights, test_gold, mask=real)
print(f"alignment error rate: {before:.2f}")
right = np.argmax(logits, axis=-1) == test_words
print(f"words that are right: {right[test_words > 0].mean():.3f}")

# %% [markdown]
# Nearly all words are right, though attention is often not where we would look:
# the encoder's outputs also know their neighbours, and the decoder's state knows
# what comes next. A weight shows what was read, not why a word was chosen.
#
# ## Teach it
#
# If you have alignments, of people or of a tool, train on them.

# %%
taught = make_model(GuidedAlignmentLoss())
taught.fit(inputs, (words, gold), epochs=4, verbose=0)
logits, guided = taught(test_inputs)
after = alignment_error_rate(guided, test_gold, mask=real)
print(f"alignment error rate: {before:.2f} before, {after:.2f} after")

# %% alt="Two matrices of attention for one sentence: as it was learned, and as it was taught, with a clean diagonal that is crossed at each adjective."
plot_attention(
    [weights[0], np.array(guided)[0]],
    tokens([test_inputs[0][0]] * 2, ENGLISH),
    tokens([test_words[0]] * 2, WORDS),
    titles=["learned", "taught"],
)
plt.show()

# %% [markdown]
# During a long training, the callback `AttentionImages` draws the same
# sentences for TensorBoard after every epoch. `plot_attention_heads` draws
# several heads, `plot_attention_over_image` a picture and the words of its
# caption. They are in the [reference](../reference/plots.md).
