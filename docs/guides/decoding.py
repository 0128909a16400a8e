# %% [markdown]
# # Decoding, from probabilities to text
#
# A search knows no model. It gets a function for one step, which takes the last
# tokens and returns log probabilities of the next ones. So this page needs no
# training: its language model is a table.

# %%
import numpy as np
from keras import layers
from keras import ops

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import BeamSearch
from keras_attention import GreedySearch
from keras_attention import PointerGenerator
from keras_attention import RecurrentEncoder
from keras_attention import Sampling
from keras_attention import Seq2Seq
from keras_attention import StateBridge

WORDS = ["", "?", "<s>", "</s>", "the", "a", "dog", "cat", "sleeps", "very"]
NEXT = {  # what follows a word, with which probability
    "<s>": {"a": 0.55, "the": 0.45},
    "a": {"dog": 0.3, "cat": 0.3, "very": 0.4},
    "the": {"dog": 0.9, "cat": 0.1},
    "dog": {"sleeps": 0.9, "</s>": 0.1},
    "cat": {"sleeps": 0.6, "</s>": 0.4},
    "very": {"very": 0.7, "dog": 0.2, "cat": 0.1},
    "sleeps": {"</s>": 1.0},
    "</s>": {"</s>": 1.0},
}
table = np.full((len(WORDS), len(WORDS)), -np.inf, "float32")
for word, follow in NEXT.items():
    for other, p in follow.items():
        table[WORDS.index(word), WORDS.index(other)] = np.log(p)
table[:2, 3] = 0.0


def step(tokens, state):  # (B, K) -> log probabilities (B, K, V)
    return ops.take(table, tokens, axis=0), state, None


def show(search, **options):
    found = search(step, state=(), batch_size=1, **options)
    for ids, score in zip(np.array(found.tokens)[0], np.array(found.scores)[0]):
        text = " ".join(WORDS[i] for i in ids if i)
        print(f"{score:6.2f}  {text}")


# %% [markdown]
# ## Greedy search
#
# It takes the likeliest word, and then the likeliest after it. `a` comes first,
# and what follows is a trap. The number is the score, a sum of logarithms:

# %%
show(GreedySearch(max_length=8))

# %% [markdown]
# ## Beam search
#
# Five texts at a time, of which `n_best` are returned. A text that is finished
# keeps its place and its score.

# %%
show(BeamSearch(5, n_best=3, max_length=8))

# %% [markdown]
# Every further word costs, so likely texts are short. `length_penalty` divides
# the score by $((5 + n) / 6)^a$; then scores are no longer log probabilities.

# %%
show(BeamSearch(5, n_best=3, max_length=8, length_penalty=2.0))

# %% [markdown]
# `coverage_penalty` does the same for sources that are not read to their end;
# it needs a model that attends.
#
# ## Sampling
#
# Other texts with every call. A temperature below 1 sharpens the distribution,
# `top_k` and `top_p` cut off its tail. The score is always the model's own.

# %%
for search in (
    Sampling(seed=1, max_length=8),
    Sampling(temperature=0.3, seed=1, max_length=8),
    Sampling(top_p=0.6, seed=1, max_length=8),
):
    print(f"temperature={search.temperature}, top_p={search.top_p}")
    for _ in range(3):
        show(search)

# %% [markdown]
# ## Constraints
#
# All searches take them: no sequence of two words twice, a least length, words
# that are never taken, and a beginning that is forced.

# %%
show(GreedySearch(max_length=8, no_repeat_ngram_size=2))
show(GreedySearch(max_length=8, forbidden_ids=[WORDS.index("very")]))
show(BeamSearch(5, max_length=8, min_length=5))
show(
    BeamSearch(5, max_length=8),
    prefix=[[WORDS.index("the"), WORDS.index("cat")]],
)

# %% [markdown]
# ## A model instead of a table
#
# `Seq2Seq.generate` makes the step, compiles the whole loop, and returns the
# same `Generation`: tokens, scores, lengths, and the weights of attention.

# %%
cell = AttentionDecoderCell(layers.GRUCell(16), BahdanauAttention(8))
model = Seq2Seq(
    source_vocabulary_size=10,
    target_vocabulary_size=len(WORDS),
    embedding_dim=8,
    encoder=RecurrentEncoder(8, cell="gru"),
    bridge=StateBridge(),
    decoder=AttentionDecoder(cell),
)
model.build(((None, None), (None, None)))
source = np.array([[2, 4, 5, 3], [2, 6, 3, 0]])
found = model.generate(source, BeamSearch(4, n_best=2, max_length=6))
print(found.tokens.shape, found.scores.shape, found.weights.shape)

# %% [markdown]
# ## A decoder of your own
#
# Without `Seq2Seq`, the step is a call of the cell that was trained. A decoder
# like that of the README's 20 lines, with random weights:

# %%
memory = np.random.default_rng(0).normal(size=(2, 4, 8)).astype("float32")
cell = AttentionDecoderCell(layers.GRUCell(16), BahdanauAttention(8))
embed = layers.Embedding(len(WORDS), 8)
project = layers.Dense(len(WORDS))
cell.build((None, 8), memory.shape)
memory = cell.prepare(memory, source != 0)


def decoder_step(tokens, states):  # (B, K) -> (B, K, V), weights (B, K, Tv)
    outputs, weights, states = cell.step(embed(tokens), states, memory)
    return ops.log_softmax(project(outputs)), states, weights


states = cell.initial_state(memory, beams=1)
search = BeamSearch(5, max_length=6, forbidden_ids=[0, 2])
found = search(decoder_step, states, batch_size=2)
print(found.tokens.shape, found.scores.shape, found.weights.shape)

# %% [markdown]
# ## Copying
#
# Names and numbers are in no vocabulary. With `copying=True` a model can write
# any word of its source. A gate $g$ mixes two distributions: that over the
# vocabulary, and that of attention over the words of the source. A source word
# without an id of its own has the id $V + j$, with $j$ its position.

# %%
pointer = PointerGenerator(vocabulary_size=4)
logits = np.zeros((1, 1, 4))  # all four words alike
features = np.zeros((1, 1, 3))  # so the gate is 1/2
attention = np.array([[[0.75, 0.25, 0.0]]])
source = np.array([[4, 3, 4]])  # 4 is V + 0: a word that nobody knows
p = ops.exp(pointer(logits, features, attention, source))
print(ops.convert_to_numpy(p)[0, 0].round(3))

# %% [markdown]
# Half of the probability is generated, 0.125 for each of the four words, and
# half is copied: 0.375 goes to the unknown word, where attention looks most. To
# train such a model, give `parallel_dataset(..., copying=True)` one tokenizer
# for both sides, and `Seq2Seq(..., copying=True)`. `Translator` writes the words
# as text.
#
# For words that a model knows but has seldom seen there is
# `Seq2Seq(..., lexical=True)`: beside what the decoder says, the words that
# attention looks at are translated by their embeddings alone, and the two add
# up.
#
# A search of your own is a subclass of `AbstractSearch`: see [your own
# parts](own_parts.md). All searches are in the
# [reference](../reference/search.md).
