# %% [markdown]
# # Several devices
#
# A loss is a mean over words, and words do not fall evenly on devices: one
# replica gets long sentences, another short ones. The mean of the replicas'
# means is then another number, and so are its gradients. Here losses, metrics
# and gradients count the words of all replicas together, so that training on
# two devices is training on one. This page shows it without a GPU.

# %% [markdown]
# ## Two devices in one processor
#
# TensorFlow splits a processor into logical devices, before its first
# operation. GPUs need nothing of this.

# %%
import tensorflow as tf

processor = tf.config.list_physical_devices("CPU")[0]
half = tf.config.LogicalDeviceConfiguration()
tf.config.set_logical_device_configuration(processor, [half, half])

import keras
import numpy as np

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import CharacterTokenizer
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import parallel_dataset

print([device.name for device in tf.config.list_logical_devices("CPU")])

# %% [markdown]
# ## A batch that falls unevenly
#
# Eight rows: the first four, for one replica, have 12 words each, the others 2.

# %%
rng = np.random.default_rng(0)
lengths = np.array([12] * 4 + [2] * 4)
real = np.arange(12) < lengths[:, None]
source = np.where(real, rng.integers(4, 20, (8, 12)), 0)
target = np.where(real, rng.integers(4, 20, (8, 12)), 0)
target[:, 0] = 2  # starts a text
labels = np.roll(target, -1, axis=1)
labels[:, -1] = 0
print("words of each replica:", (labels[:4] > 0).sum(), (labels[4:] > 0).sum())


def make_model():
    keras.utils.set_random_seed(1)
    cell = AttentionDecoderCell(keras.layers.LSTMCell(16), BahdanauAttention(8))
    model = Seq2Seq(
        source_vocabulary_size=20,
        target_vocabulary_size=20,
        embedding_dim=8,
        encoder=RecurrentEncoder(8),
        bridge=StateBridge(),
        decoder=AttentionDecoder(cell),
    )
    model.build(((None, None), (None, None)))
    model.compile(
        keras.optimizers.SGD(0.5), SequenceCrossentropy(), jit_compile=False
    )
    return model


# %% [markdown]
# ## The same steps on one device and on two
#
# Make and compile the model in the strategy's scope. All else is as before.

# %%
alone = make_model()
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    together = make_model()

batches = tf.data.Dataset.from_tensors(((source, target), labels)).repeat(5)
for name, model in (("one device", alone), ("two devices", together)):
    losses = model.fit(batches.unbatch().batch(8), epochs=3, verbose=0).history
    print(f"{name:12}", np.round(losses["loss"], 6))

# %%
differences = [
    np.abs(np.array(a) - np.array(b)).max()
    for a, b in zip(alone.get_weights(), together.get_weights(), strict=True)
]
print(f"largest difference of a weight: {max(differences):.1e}")

# %% [markdown]
# A mean of means would have been another loss:

# %%
log_probs = keras.ops.log_softmax(alone((source, target)))
losses = -np.take_along_axis(np.array(log_probs), labels[..., None], 2)[..., 0]
means = [
    losses[rows][labels[rows] > 0].mean() for rows in (range(4), range(4, 8))
]
print("mean of all words      ", losses[labels > 0].mean().round(4))
print("mean of replicas' means", np.mean(means).round(4))

# %% [markdown]
# Of several *batches*, in time, Keras' `loss` and `val_loss` are means of means
# nevertheless, on any number of devices, and so are the gradients that
# `gradient_accumulation_steps` adds up. The metric `Perplexity` is over all
# tokens; [Training](training.md) says how to stop by it.

# %% [markdown]
# ## Each process reads its part
#
# On several machines every process reads the same files, and takes its part of
# each batch: `shard=(index, count)`. No pair is lost, none comes twice.

# %%
with open("numbers.txt", "w") as file:
    file.writelines(f"{number}\n" for number in range(100, 112))
digits = CharacterTokenizer("0123456789")
for index in range(2):
    part = parallel_dataset(
        "numbers.txt", "numbers.txt", digits, digits, 2, shard=(index, 2)
    )
    texts = [digits.detokenize(x.numpy()) for (x, _), _ in part]
    print(index, " ".join(np.concatenate(texts)))

# %% [markdown]
# JAX splits arrays itself: one line before the model is made,
#
# ```python
# keras.distribution.set_distribution(keras.distribution.DataParallel())
# ```
#
# gives the numbers of one device as well, and `ModelParallel` splits the
# matrices of a large vocabulary. [Several devices, several
# machines](../distributed.md) has the layout, clusters, and what does not work;
# `examples/train_distributed.py` runs each of the ways.
