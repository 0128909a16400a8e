# %% [markdown]
# # A first attention layer
#
# Attention answers a question with the mean of what it knows, weighted by how
# well each piece fits. The *query* is the question, the *keys* say what each
# piece is about, and the *values* are the pieces. This page has one layer, a
# few vectors, and everything that can go wrong with padding.

# %%
import keras
import numpy as np

from keras_attention import BahdanauAttention

# %% [markdown]
# ## Queries and a memory
#
# A batch of 2 sources, each with 4 positions of 3 features, and 1 query each.
# Query and memory may differ in size: the layer projects both to its `units`.

# %%
rng = np.random.default_rng(0)
memory = rng.normal(size=(2, 4, 3)).astype("float32")
query = rng.normal(size=(2, 1, 5)).astype("float32")

attention = BahdanauAttention(units=8, seed=1)
context, weights = attention(query, memory, return_attention_scores=True)
print("context", context.shape, "weights", weights.shape)
print(np.array(weights).round(3))

# %% [markdown]
# The context is the mean of the memory by these weights, nothing else:

# %%
by_hand = np.array(weights) @ memory
print("difference:", np.abs(by_hand - np.array(context)).max())

# %% [markdown]
# And the weights are a softmax of the scores, $v \cdot \tanh(q W_q + k W_k)$.
# The layer has three weights, with the names of the formula:

# %%
q, k, v = attention.get_weights()
for weight in attention.weights:
    print(weight.name, tuple(weight.shape))
scores = np.tanh(query @ q + memory @ k) @ v
softmax = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
print("difference:", np.abs(softmax - np.array(weights)[:, 0]).max())

# %% [markdown]
# ## Padding and masking
#
# Sources differ in length, so the shorter ones are padded. Padding must get no
# weight. Say where it is with `value_mask`, or let Keras do it: the mask of an
# `Embedding(mask_zero=True)` arrives by itself.

# %%
ids = np.array([[5, 3, 9, 4], [7, 2, 0, 0]])  # 0 is padding
embedding = keras.layers.Embedding(10, 3, mask_zero=True)
_, weights = attention(query, embedding(ids), return_attention_scores=True)
print(np.array(weights).round(3))

# %% [markdown]
# A source without a single real position gets weights of 0 and a context of 0,
# in every dtype. `keras.layers.AdditiveAttention` gives it the mean of its
# padding, and in float16 not a number.

# %%
nothing = np.zeros((2, 4), bool)
context, weights = attention(
    query, memory, value_mask=nothing, return_attention_scores=True
)
print(np.array(weights)[0], np.array(context)[0])

# %% [markdown]
# ## In a model
#
# Attention is a layer like any other. Here it reads a sequence for a classifier
# that has to say whether the number 7 occurs anywhere, with one learned query.

# %%
source = keras.Input((None,), dtype="int32")
embedded = keras.layers.Embedding(10, 16, mask_zero=True)(source)
question = keras.layers.Dense(16)(keras.ops.ones_like(embedded[:, :1]))
context, looked = BahdanauAttention(16)(
    question, embedded, return_attention_scores=True
)
answer = keras.layers.Dense(1, activation="sigmoid")(context[:, 0])
model = keras.Model(source, answer)
model.compile(
    keras.optimizers.Adam(0.02), "binary_crossentropy", metrics=["accuracy"]
)

examples = rng.integers(1, 10, size=(2048, 6))
is_there = (examples == 7).any(axis=1).astype("float32")[:, None]
history = model.fit(examples, is_there, epochs=4, verbose=0)
print("accuracy:", round(history.history["accuracy"][-1], 3))

# %% [markdown]
# Where does it look? The weights are an output like any other too:

# %% alt="Bars of the weights of six numbers: nearly all weight is on the 7."
import matplotlib.pyplot as plt

row = np.array([[1, 8, 3, 7, 2, 5]])
found = np.array(keras.Model(source, looked)(row))[0, 0]
figure, ax = plt.subplots(figsize=(5, 2))
ax.bar(range(6), found)
ax.set(xticks=range(6), xticklabels=row[0], ylabel="weight", ylim=(0, 1))
plt.show()

# %% [markdown]
# ## Save it
#
# Import `keras_attention` before you load, so that Keras knows the class.
# `custom_objects` is not needed.

# %%
model.save("seven.keras")
loaded = keras.models.load_model("seven.keras")
print(np.array(loaded(row) == model(row)))

# %% [markdown]
# ## One step at a time
#
# A decoder asks one question after the other about the same source. It prepares
# the memory once, so that keys are projected once, and then asks.

# %%
attention = BahdanauAttention(units=8)
attention.build(query.shape, memory.shape)
prepared = attention.prepare(memory)
state = attention.initial_state(prepared)
for _ in range(3):
    context, weights, state = attention.step(query, prepared, state)
print(context.shape)

# %% [markdown]
# Nothing is kept on the layer between two calls: memory and state are
# arguments. So one layer serves many sources at once, in graphs and in threads.
#
# Next: [a translator, from files to a server](translate.md), or [which
# mechanism for which task](mechanisms.md). All layers are in the
# [reference](../reference/attention.md).
