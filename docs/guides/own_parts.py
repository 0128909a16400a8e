# %% [markdown]
# # Your own score, alignment, cell, search, model, tokenizer
#
# Each is a class with one method that is the formula. What you write trains,
# searches, saves and is exported like the parts that are there, because those
# are written in the same way.

# %%
import keras
import numpy as np
from keras import layers
from keras import ops

from keras_attention import AbstractAlignment
from keras_attention import AbstractAttention
from keras_attention import AbstractModel
from keras_attention import AbstractSearch
from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import BeamSearch
from keras_attention import Ensemble
from keras_attention import GreedySearch
from keras_attention.decoder.equations import AbstractEquations
from keras_attention.decoder.equations import register_equations
from keras_attention.models import Begun
from keras_attention.ops import hoist
from keras_attention.ops import product
from keras_attention.search import follow_path
from keras_attention.text import AbstractVocabularyTokenizer
from keras_attention.text import steps

rng = np.random.default_rng(0)
query = rng.normal(size=(2, 3, 4)).astype("float32")
memory = rng.normal(size=(2, 5, 4)).astype("float32")

# %% [markdown]
# ## A score
#
# The $L_1$ distance of query and key, with a learned scale. `score` gets what
# `project_query` and `project_keys` return, which here are the tensors
# themselves. Masks, softmax, dropout, steps, beams and saving are the base's.


# %%
@keras.saving.register_keras_serializable("guide")
class CityBlockAttention(AbstractAttention):
    """Attends by -g sum |q - k|."""

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        self.scale = self.add_weight(name="scale", initializer="ones")

    def score(self, query, keys):
        apart = ops.expand_dims(query, 2) - ops.expand_dims(keys, 1)
        scale = ops.cast(self.scale, query.dtype)  # also in float16
        return -scale * ops.sum(ops.absolute(apart), axis=-1)


attention = CityBlockAttention()
_, weights = attention(query, memory, return_attention_scores=True)
apart = -np.abs(query[:, :, None] - memory[:, None]).sum(-1)
expected = np.exp(apart) / np.exp(apart).sum(-1, keepdims=True)
print("difference:", np.abs(np.array(weights) - expected).max())

# %% [markdown]
# It goes into a decoder as it is:

# %%
decoder = AttentionDecoder(AttentionDecoderCell(layers.GRUCell(4), attention))
print(decoder(rng.normal(size=(2, 6, 8)).astype("float32"), memory).shape)

# %% [markdown]
# ## An alignment
#
# Scores become weights in `align`. This one gives all weight to the best `k`
# positions, evenly. Weights are 0 where the mask is; the base gives every score
# this alignment. Its config holds `k`, since that is an attribute too.


# %%
@keras.saving.register_keras_serializable("guide")
class TopMean(AbstractAlignment):
    """Gives equal weight to the k positions with the best scores."""

    def __init__(self, k, **kwargs):
        super().__init__(**kwargs)
        self.k = k

    def align(self, scores, mask, state, noise, query, lengths):
        if mask is not None:
            scores = ops.where(mask, scores, -1e9)
        least = ops.top_k(scores, self.k)[0][..., -1:]
        chosen = ops.logical_and(scores >= least, scores > -1e8)
        chosen = ops.cast(chosen, scores.dtype)
        total = ops.maximum(ops.sum(chosen, axis=-1, keepdims=True), 1.0)
        return chosen / total, ()


attention = BahdanauAttention(8, alignment=TopMean(2))
mask = np.arange(5) < np.array([[5], [1]])  # one real position in the second
_, weights = attention(
    query, memory, value_mask=mask, return_attention_scores=True
)
print(np.array(weights)[:, 0])

# %% [markdown]
# An alignment that depends on the step before has a state: `state_count`,
# `first_state`, and the next state as the second result of `align`.
#
# ## A cell
#
# Any Keras RNN cell works, step by step. With its equations written in terms of
# `product`, it also gets the fast loop: inputs are projected before it, and the
# gradients of all weights are computed after it ([how](../hood/fast_loop.md)).


# %%
@keras.saving.register_keras_serializable("guide")
class DecayCell(layers.SimpleRNNCell):
    """Halves its state at every step."""

    def call(self, inputs, states, training=False):
        h = 0.5 * states[0] + ops.matmul(inputs, self.kernel)
        return h, [h]


@register_equations(DecayCell)
class DecayEquations(AbstractEquations):
    """The same, from projected inputs."""

    def input_bias(self, cell):
        return None

    def step(self, cell, x, rest, states, masks=None):
        if rest is not None:  # the last part of the inputs, the context
            begin = cell.kernel.shape[0] - rest.shape[-1]
            x = x + product(rest, hoist(lambda w: w[begin:], cell.kernel))
        h = 0.5 * states[0] + x
        return h, [h]


def run(kind):
    keras.utils.set_random_seed(0)
    cell = AttentionDecoderCell(kind(4), BahdanauAttention(3))
    return np.array(AttentionDecoder(cell)(query, memory))


class Plain(DecayCell):
    """Has no equations of its own: it is called step by step."""


print("difference:", np.abs(run(DecayCell) - run(Plain)).max())

# %% [markdown]
# ## A search
#
# `follow_path` is the loop for a search with one text a row: buffers, ends,
# constraints. What is left is the choice. This one takes the second best word
# at the first step, and the best one after it.


# %%
@keras.saving.register_keras_serializable("guide")
class SecondThought(AbstractSearch):
    """Begins with the second best word."""

    def call(self, step, state, batch_size, memory_mask=None, prefix=None):
        def take(log_probs, position):  # (B, 1, V) -> (B, 1)
            _, words = ops.top_k(log_probs, 2)
            place = ops.cast(ops.equal(position, 0), "int32")
            return ops.cast(ops.take(words, place, axis=-1), "int32")

        return follow_path(self, take, step, state, batch_size, prefix)


table = np.log(
    [[0.1, 0.2, 0.3, 0.4]] * 2 + [[0.1, 0.5, 0.1, 0.3]] + [[0.1, 0.2, 0.3, 0.4]]
)
for search in (GreedySearch(max_length=4), SecondThought(max_length=4)):
    found = search(
        lambda tokens, state: (ops.take(table, tokens, axis=0), state, None),
        state=(),
        batch_size=1,
    )
    print(type(search).__name__, np.array(found.tokens)[0, 0])

# %% [markdown]
# Searches with several texts a row are made of `begin_beams`, `extend_beams` and
# `select_beams`.
#
# ## A model
#
# `AbstractModel` is all that searches, translators, exports and ensembles know of
# a model: `begin` reads a source, and `next_word` scores the words that may come
# next. This one knows how often each word follows another, and reads its source
# as a bag of words.


# %%
@keras.saving.register_keras_serializable("guide")
class BagOfWords(AbstractModel):
    """Scores words by the last one, and by all words of the source."""

    def __init__(self, size, **kwargs):
        super().__init__(**kwargs)
        self.source_vocabulary_size = self.target_vocabulary_size = size

    def build(self, input_shape):
        shape = self.target_vocabulary_size, self.target_vocabulary_size
        self.following = self.add_weight(shape=shape, initializer="normal")
        self.translating = self.add_weight(shape=shape, initializer="normal")

    def read(self, source):  # (B, Tv) -> (B, 1, V)
        real = ops.cast(ops.not_equal(source, 0), "float32")
        real = ops.expand_dims(real, -1)
        words = real * ops.take(self.translating, source, axis=0)
        return ops.sum(words, axis=1, keepdims=True)

    def call(self, inputs):  # to train it by `fit`
        source, target = inputs
        return ops.take(self.following, target, axis=0) + self.read(source)

    def begin(self, source, beams=1, search=None, prefix=None):
        return Begun(self.read(source), states=[])

    def next_word(self, tokens, states, prepared):  # (B, K) -> (B, K, V)
        scores = ops.take(self.following, tokens, axis=0) + prepared
        return ops.log_softmax(scores), states, None

    def get_config(self):
        return {**super().get_config(), "size": self.target_vocabulary_size}


models = [BagOfWords(9), BagOfWords(9)]
both = Ensemble(models)
both.build(((None, None), (None, None)))
found = both.generate(np.array([[2, 5, 4, 3]]), BeamSearch(3, max_length=4))
print(np.array(found.tokens)[0, 0], np.array(found.scores)[0])

# %% [markdown]
# What it carries from word to word are its `states`, tensors `(B, K, ...)`, which
# a search moves with its beams.
#
# ## A tokenizer
#
# A tokenizer is a list of steps: `Normalize`, `Replace`, `Split`, `LookUp`,
# `Join`, and for pieces `SentencePieces` and `WordPieces`. Python runs them to read
# and to write, and exports write the same steps for TensorFlow and ONNX. So a
# `Translator` with this tokenizer can be exported to `"tf_saved_model"` and to
# `"onnx_text"`. `train`, `save`, and `load` are those of the base class.


# %%
@keras.saving.register_keras_serializable("guide")
class SyllableTokenizer(AbstractVocabularyTokenizer):
    """Reads syllables between hyphens or spaces: "ba-na-na"."""

    @property
    def steps(self):
        return [
            steps.Normalize(self.normalization, self.lowercase),
            steps.Replace([(r"[- ]+", "-")]),
            steps.Split("-"),
            steps.LookUp(self.vocabulary),
            steps.Join("-"),
        ]


tokenizer = SyllableTokenizer.train(["ba-na-na", "na na"], 10, lowercase=True)
ids = tokenizer.tokenize(["Na-BA", "ba ki"])
print(tokenizer.vocabulary, ids.tolist(), tokenizer.detokenize(ids).tolist())

# %% [markdown]
# Patterns are those of RE2, which all runtimes have. What else you want of a text
# is a step of your own: a frozen dataclass with `read` and `write`, to which
# `tensor_form` and `onnx_form` of `keras_attention.export` give its other forms.
#
# To put a part into the library, follow the recipes in
# [contributing](../project/contributing.md): they name the files to change, and
# the test that fails if one was forgotten.
