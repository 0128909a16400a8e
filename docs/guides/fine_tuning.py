# %% [markdown]
# # Fine-tuning
#
# A trained translator can learn from new pairs: another domain, a dialect, letters
# that it has never seen. This page extends its vocabularies, trains all of its
# weights or only some of them, and measures what it forgets. In a shell,
# `keras-attention train --init FOLDER` does the same; see
# [Train from the command line](../train_command.md).

# %%
import random
import tempfile

import keras
import numpy as np
from keras import layers

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import CharacterTokenizer
from keras_attention import GreedySearch
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import Translator

keras.utils.set_random_seed(0)
draw = random.Random(0)


def numbers(digits, count, shortest, longest):
    lengths = [draw.randint(shortest, longest) for _ in range(count)]
    return ["".join(draw.choices(digits, k=n)) for n in lengths]


def fit(translator, texts, epochs, rate):
    source, target = (
        np.array(tokenizer.tokenize(side))
        for tokenizer, side in (
            (translator.source_tokenizer, texts),
            (translator.target_tokenizer, [x[::-1] for x in texts]),
        )
    )
    model = translator.model
    model.compile(keras.optimizers.Adam(rate), SequenceCrossentropy())
    model.fit((source, target[:, :-1]), target[:, 1:], 32, epochs, verbose=0)


def accuracy(translator, texts):
    found = translator(texts, verbose=0)
    right = [x[::-1] == y for x, y in zip(texts, found, strict=True)]
    return f"{100 * np.mean(right):.0f} %"


# %% [markdown]
# ## A trained translator
#
# It writes decimal numbers backward.

# %%
tokenizer = CharacterTokenizer("0123456789")
cell = AttentionDecoderCell(layers.GRUCell(64), BahdanauAttention(64))
model = Seq2Seq(
    source_vocabulary_size=tokenizer.vocabulary_size,
    target_vocabulary_size=tokenizer.vocabulary_size,
    embedding_dim=16,
    encoder=RecurrentEncoder(32, cell="gru"),
    bridge=StateBridge(),
    decoder=AttentionDecoder(cell),
)
base = Translator(model, tokenizer, tokenizer, GreedySearch(max_length=12))
fit(base, numbers("0123456789", 2000, 4, 8), epochs=10, rate=0.01)
old = numbers("0123456789", 200, 4, 8)
print("old numbers:", accuracy(base, old))

# %% [markdown]
# ## New entries
#
# The new texts are short hexadecimal numbers. `extended` returns a translator with
# more entries in both vocabularies. Old entries keep their ids and weights. New rows
# of the embeddings and of the output are the mean of the old ones, so a new entry
# takes at most its share of the probability before it has been trained.

# %%
more = numbers("0123456789ABCDEF", 300, 2, 4)
new = numbers("0123456789ABCDEF", 200, 2, 4)
translator = base.extended((more, [x[::-1] for x in more]))
print(translator.source_tokenizer.vocabulary[10:])
print("old numbers:", accuracy(translator, old))
print("new numbers:", accuracy(translator, new))

# %% [markdown]
# ## Train all weights
#
# The model is not compiled: a saved translator has no optimizer, and an extended
# model has other weights. `compile` it before `fit`. A smaller learning rate than
# that of the first training forgets less.

# %%
fit(translator, more, epochs=15, rate=0.003)
print("new numbers:", accuracy(translator, new))
print("old numbers:", accuracy(translator, old))

# %% [markdown]
# The second number is what the translator has forgotten. Always measure it, on a
# test set of the first task. It forgets less if some of the old pairs are among the
# new ones:

# %%
both = more + numbers("0123456789", 300, 4, 8)
rehearsed = base.extended((both, [x[::-1] for x in both]))
fit(rehearsed, both, epochs=15, rate=0.003)
print("new numbers:", accuracy(rehearsed, new))
print("old numbers:", accuracy(rehearsed, old))

# %% [markdown]
# ## Freeze layers
#
# Layers with `trainable = False` stay unchanged. Set it before `compile`. Here the
# encoder and the decoder are frozen, and only the embeddings and the output learn:

# %%
frozen = base.extended((more, [x[::-1] for x in more]))
frozen.model.encoder.trainable = False
frozen.model.decoder.trainable = False
fit(frozen, more, epochs=15, rate=0.003)
print("new numbers:", accuracy(frozen, new))
print("old numbers:", accuracy(frozen, old))

# %% [markdown]
# ## LoRA
#
# `enable_lora(rank)` of Keras freezes a kernel, and trains a product of two small
# matrices that is added to it. `Dense` and `Embedding` layers have it; recurrent
# layers do not. Extend the vocabularies first, because they cannot grow after that.

# %%
small = base.extended((more, [x[::-1] for x in more]))
small.model.encoder.trainable = False
small.model.decoder.trainable = False
for layer in (
    small.model.source_embedding,
    small.model.target_embedding,
    small.model.output_layer,
):
    layer.enable_lora(4)
fit(small, more, epochs=15, rate=0.01)
count = sum(np.prod(x.shape) for x in small.model.trainable_weights)
print(f"{count} of {small.model.count_params()} weights are trained")
print("new numbers:", accuracy(small, new))
print("old numbers:", accuracy(small, old))

# %% [markdown]
# `save` adds the products to the kernels, so what it writes has the usual size:

# %%
with tempfile.TemporaryDirectory() as folder:
    small.save(f"{folder}/hexadecimal")
    loaded = Translator.load(f"{folder}/hexadecimal")
print(loaded.model.count_params(), accuracy(loaded, new))

# %% [markdown]
# Which of these is best depends on the task: how much the new texts need that the
# old weights do not have. Compare both numbers on validation sets.
