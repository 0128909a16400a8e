# %% [markdown]
# # While the source still comes in
#
# Attention that only moves to the right can write before the source has ended.
# A model streams if its encoder reads one way, its decoder begins with zeros,
# and its attention has `Monotonic` alignment, is a `ChunkwiseAttention` on it,
# or has `LocalMonotonic`. It writes each word as soon as no later position can
# change it.
#
# The model of this page copies letters.

# %%
import random

import numpy as np
import tensorflow as tf
from keras import layers

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import CharacterTokenizer
from keras_attention import GreedySearch
from keras_attention import Monotonic
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import export_stream

draw = random.Random(0)
words = [
    "".join(draw.choices("abcdef", k=draw.randint(3, 7))) for _ in range(2000)
]
tokenizer = CharacterTokenizer("abcdef")
source = tokenizer.tokenize(words)
target = source

attention = BahdanauAttention(
    32, normalize=True, alignment=Monotonic(sigmoid_noise=1.0)
)
cell = AttentionDecoderCell(layers.LSTMCell(64), attention)
model = Seq2Seq(
    source_vocabulary_size=tokenizer.vocabulary_size,
    target_vocabulary_size=tokenizer.vocabulary_size,
    embedding_dim=32,
    encoder=RecurrentEncoder(64, bidirectional=False),
    bridge=StateBridge("zeros", bidirectional=False),
    decoder=AttentionDecoder(cell),
)
model.compile("adam", SequenceCrossentropy())
model.optimizer.learning_rate = 0.01
history = model.fit(
    (source, target[:, :-1]), target[:, 1:], 64, epochs=8, verbose=0
)
print("losses:", *np.round(history.history["loss"], 3))

# %% [markdown]
# ## Push and end
#
# Training is soft, and noise prepares it for hard decisions. `harden` makes soft
# modes hard, and returns what it changed. Then `push` takes a part of the source, and returns the words that are now
# certain, a list for each row; `end` returns the rest.

# %%
print(model.harden())
ids = np.array(tokenizer.tokenize(["decaf"]))
stream = model.stream(max_length=20)
for part in np.split(ids, ids.shape[1], axis=1):
    words = stream.push(part)
    print(part[0], "->", tokenizer.detokenize(words)[0])
print("end ->", tokenizer.detokenize(stream.end())[0])

# %% [markdown]
# Whatever the parts are, these are the words of `generate` on the whole source:

# %%
whole = model.generate(ids, GreedySearch(max_length=20))
print(tokenizer.detokenize(np.array(whole.tokens[:, 0]))[0])

# %% [markdown]
# Time for each position, and memory, do not grow with the length of the source
# (`benchmarks/streaming.py`). Sources may be ids or features.
#
# ## A server that keeps nothing
#
# `export_stream` writes a SavedModel, or with `format="litert"` a LiteRT file.
# Its signatures are `start`, `push` and `end`. The state goes in and out as
# tensors, so that a server keeps nothing between two requests.

# %%
export_stream("stream", model, max_length=20)
served = tf.saved_model.load("stream").signatures
print(*sorted(served))
print(*sorted(served["push"].structured_input_signature[1]), sep="\n")

# %% [markdown]
# ## What cannot be streamed
#
# An error names the part that cannot be streamed. These cannot: parts that need
# the end of the source, such as a bidirectional encoder; `attention_window`;
# `Monotonic(stepwise=True)`; `MultiHead`; and scores that depend on earlier
# weights.
