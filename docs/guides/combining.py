# %% [markdown]
# # Models made of models
#
# Two trainings from other seeds make other mistakes, text without a translation
# teaches a language, and some words must come. What is made here of a model is
# again a model: it generates, is translated with, saved and exported as one
# thing. The task is to write numbers backwards, and two times 150 numbers are too
# few to learn it.

# %%
import random

import numpy as np
from keras import layers

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import BeamSearch
from keras_attention import CharacterTokenizer
from keras_attention import Ensemble
from keras_attention import LanguageModel
from keras_attention import RecurrentEncoder
from keras_attention import Sampling
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import ShallowFusion
from keras_attention import StateBridge
from keras_attention import Translator

draw = random.Random(0)
numbers = [
    "".join(draw.choices("0123456789", k=draw.randint(2, 6)))
    for _ in range(450)
]
tokenizer = CharacterTokenizer("0123456789")
source = np.array(tokenizer.tokenize(numbers))
target = np.array(tokenizer.tokenize([x[::-1] for x in numbers]))


def train(attention, units):
    cell = AttentionDecoderCell(layers.GRUCell(units), attention)
    model = Seq2Seq(
        source_vocabulary_size=tokenizer.vocabulary_size,
        target_vocabulary_size=tokenizer.vocabulary_size,
        embedding_dim=16,
        encoder=RecurrentEncoder(units // 2, cell="gru"),
        bridge=StateBridge(),
        decoder=AttentionDecoder(cell),
    )
    model.compile("adam", SequenceCrossentropy())
    model.optimizer.learning_rate = 0.01
    pairs = (source[:150], target[:150, :-1]), target[:150, 1:]
    model.fit(*pairs, 16, epochs=25, verbose=0)
    return model


def accuracy(model):
    translator = Translator(model, tokenizer, tokenizer, BeamSearch(3))
    found = translator(numbers[150:])
    right = [x == y[::-1] for x, y in zip(found, numbers[150:], strict=True)]
    return f"{100 * np.mean(right):.0f} % right"


models = [train(BahdanauAttention(32), 48), train(BahdanauAttention(48), 64)]
for model in models:
    print(accuracy(model))

# %% [markdown]
# ## An ensemble
#
# The mean of the probabilities of every next word. The members differ in their
# sizes; only the target vocabulary has to be the same. Members should be about
# equally good: one that is worse pulls the mean down.

# %%
both = Ensemble(models)
print(accuracy(both))

# %% [markdown]
# It takes the time of its members. For checkpoints of one training there is
# `both.average()`, one model with the mean of their weights, as fast as one.
#
# Members that were trained on other pieces of the source get a tokenizer each,
# `Translator(both, [letters, pieces], target_tokenizer)`. Source tokens, attention,
# and words that are copied then are those of the first one.
#
# ## A language model
#
# It reads targets alone, of which there may be many more: here all 450. A source
# only says how many texts are wanted.

# %%
language = LanguageModel(tokenizer.vocabulary_size, 16, layers.GRUCell(64))
language.compile("adam", SequenceCrossentropy())
language.fit(target[:, :-1], target[:, 1:], 16, epochs=10, verbose=0)
search = Sampling(seed=1, max_length=8, forbidden_ids=[1])
found = language.generate(np.zeros((3, 1)), search)
print(tokenizer.detokenize(np.array(found.tokens[:, 0])))

# %% [markdown]
# `ShallowFusion` adds what it says to what a model says. Digits that are drawn at
# random have nothing to learn but their lengths, so it does not help here; measure
# it on validation data, with several weights.

# %%
fused = ShallowFusion(both, language, weight=0.1)
print(accuracy(fused))

# %% [markdown]
# ## Scores
#
# The log probability of every token, of texts that are found and of given ones:

# %%
translator = Translator(fused, tokenizer, tokenizer, BeamSearch(3))
found = translator(["1234"], return_token_scores=True, return_scores=True)
print(found.texts, found.scores)
print(found.target_tokens[0], found.token_scores[0].round(2))
print(translator.score(["1234", "1234"], ["4321", "4312"]).scores)

# %% [markdown]
# ## Words that must come
#
# A term, a name: `required` has phrases for each sentence. Beams are shared out
# among texts that have more and fewer of them (Post and Vilar 2018), so that each
# is put where the model likes it best.

# %%
print(translator(["1234", "1234"], required=[[], ["87"]]))

# %% [markdown]
# All is saved and exported as one model: `translator.save(folder)`,
# `translator.export(path)`. A class of [your own](own_parts.md#a-model) can be a
# member, too.
