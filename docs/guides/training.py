# %% [markdown]
# # Training: interruptions, schedules, pictures
#
# What surrounds `model.fit` in a training of some hours. The model reverses
# words, letter by letter, so that this page runs in seconds; every call is the
# same for a real translator.

# %%
import random
from pathlib import Path

import keras
import numpy as np
from keras import layers

import keras_attention
from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import AttentionImages
from keras_attention import AverageWeights
from keras_attention import BahdanauAttention
from keras_attention import CharacterTokenizer
from keras_attention import GreedySearch
from keras_attention import InverseSigmoidSchedule
from keras_attention import InverseSquareRootSchedule
from keras_attention import RecurrentEncoder
from keras_attention import ScheduledSampling
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import Translator
from keras_attention import parallel_dataset
from keras_attention import resumable_fit

draw = random.Random(0)
words = [
    "".join(draw.choices("abcdef", k=draw.randint(2, 6))) for _ in range(640)
]
Path("words.txt").write_text("\n".join(words))
Path("reversed.txt").write_text("\n".join(word[::-1] for word in words))
tokenizer = CharacterTokenizer("abcdef")
files = "words.txt", "reversed.txt"
train = parallel_dataset(
    *files, tokenizer, tokenizer, 64, training=True, seed=1
)


def make_model(**options):
    cell = AttentionDecoderCell(layers.GRUCell(32), BahdanauAttention(16))
    return Seq2Seq(
        source_vocabulary_size=tokenizer.vocabulary_size,
        target_vocabulary_size=tokenizer.vocabulary_size,
        embedding_dim=16,
        encoder=RecurrentEncoder(16, cell="gru"),
        bridge=StateBridge(),
        decoder=AttentionDecoder(cell),
        **options,
    )


model = make_model()
model.compile("adam", SequenceCrossentropy(label_smoothing=0.1))

# %% [markdown]
# ## The loss, and what to stop by
#
# `Seq2Seq` gives logits of padded texts. The losses and metrics of Keras take
# logits for probabilities, or padding for words, so `compile` refuses them, also
# `"sparse_categorical_crossentropy"` and `"accuracy"`. `SequenceCrossentropy`,
# `TokenAccuracy` and `Perplexity` are averages over real tokens; a function or a
# class of your own is taken as it is.
#
# The averages over a batch are right, but `loss` and `val_loss` are Keras' means
# of them, by numbers of rows: another batch size gives another `val_loss`.
# `Perplexity` adds up all tokens first, so compile with
# `metrics=[Perplexity()]`, and stop by
# `keras.callbacks.EarlyStopping("val_perplexity", mode="min")`. For the same
# reason a step of an optimizer with `gradient_accumulation_steps=2` differs a
# little from one of a batch of twice the size: a token of a short batch counts
# more.
#
# One weight for each id is `sample_weight=weights[targets]`, of the shape of the
# targets. `fit` has no `class_weight` here, since Keras would take a row of words
# for one class.

# %% [markdown]
# ## Interrupted training
#
# A training that was killed goes on when its command runs again, as if nothing
# had happened: weights, optimizer, dropout, the order of `parallel_dataset`, the
# history, and what other callbacks remember are the same to the last bit.
# (`keras.callbacks.BackupAndRestore` goes on with another run.)

# %%
history = resumable_fit(
    model, "state", train, save_freq=5, epochs=2, shuffle=False, verbose=0
)
print(history.history["loss"])

# %% [markdown]
# It calls `model.fit` with what it is given beside the folder of its state. A
# state is written at the start and after every five batches here, or at the
# end of each epoch by default; whole or not at all, and without pickle. After
# the last epoch nothing is left. Within an epoch, earlier batches are read again
# and dropped. With other data or arguments it raises an error, and the state
# stays. The [reference](../reference/training.md) says what is kept of
# callbacks and of other data.
#
# ## Saving and loading
#
# Import `keras_attention` before you load a `.keras` file, so that Keras knows
# the classes in it. Without the import it raises `TypeError: Could not locate
# class 'Seq2Seq'`. `custom_objects` is not needed.

# %%
model.save("reverse.keras")
loaded = keras.models.load_model("reverse.keras")
print(type(loaded).__name__, keras_attention.__version__)

# %% [markdown]
# Weights alone are loaded into a model that has been built. `build` takes the
# shapes of the source and the target ids, and makes all weights; the model needs
# no call before.

# %%
model.save_weights("reverse.weights.h5")
fresh = make_model()
fresh.build(((None, None), (None, None)))
fresh.load_weights("reverse.weights.h5")
print(all(map(np.array_equal, fresh.get_weights(), model.get_weights())))

# %% [markdown]
# ## What helps a translator
#
# None of these is in Keras:
#
# - `ValidationScores(translator, sources, references, ["bleu", "wer"])` writes
#   `val_bleu` and `val_wer` to the logs, for an `EarlyStopping` behind it. It
#   needs the extra `evaluation`.
# - `AverageWeights(5)` ends with the mean weights of the last five epochs.
# - `InverseSquareRootSchedule(0.001, warmup=4000)` is a learning rate.
# - `parallel_dataset(..., sample_subwords=0.1)` cuts words into other pieces in
#   every epoch.
# - `Seq2Seq(tie_embeddings="all")` has one embedding for both sides and the
#   output.
# - `ScheduledSampling` feeds the decoder more and more of its own words instead
#   of the right ones ([Bengio et al., 2015](https://arxiv.org/abs/1506.03099)).
#   Its schedule may also be one of `keras.optimizers.schedules`, or any function
#   from a step to a probability.
# - `AttentionImages` writes pictures of the attention for TensorBoard, of the
#   same sentences after every epoch.

# %%
model = make_model(scheduled_sampling=True)
rate = InverseSquareRootSchedule(0.01, warmup=10)
model.compile(keras.optimizers.Adam(rate), SequenceCrossentropy())
model.build(((None, None), (None, None)))
translator = Translator(model, tokenizer, tokenizer, GreedySearch(max_length=8))
history = model.fit(
    train,
    epochs=8,
    shuffle=False,
    verbose=0,
    callbacks=[
        ScheduledSampling(InverseSigmoidSchedule(20)),
        AverageWeights(2),
        AttentionImages("logs", ["fade"], tokenizer, tokenizer),
    ],
)
print(history.history["loss"])
print(translator(["abc", "fade", "beef"]))

# %% [markdown]
# Which of these pay for real text, and by how much, is on the page about
# [translation quality](../quality.md). A training on several devices is on
# [a page of its own](devices.md).
