# %% [markdown]
# # Coming from TensorFlow Addons
#
# `tfa.seq2seq` ended in 2024 and never ran on Keras 3. This page says what takes
# the place of each of its names, shows one program in both, and loads weights
# that were trained with it.
#
# It runs in a clone of the repository, which has the weights that TFA's program
# saved.
#
# ## What differs without an error
#
# - **The attentional layer.** That of `AttentionWrapper(...,
#   attention_layer_size=n)` is linear. Ours is `tanh`, as in the paper, unless
#   you say `attention_activation=None`.
# - **The order.** An `AttentionWrapper` runs its cell first, attends with the new
#   state, and feeds the result to the next step. That is `order="luong"`,
#   whatever the score. Our default is `"bahdanau"`: attend with the previous
#   state, then run the cell.
# - **The output.** That of a wrapper is the attention alone. Without an
#   attentional layer our default is `[s; c]`: say `output="attention"`. For
#   `output_attention=False` say `output="cell"`.
# - **Embeddings.** `Seq2Seq` multiplies them by the square root of their size.
#   `load_tfa_weights` divides by it, so that the numbers are the same. If your
#   program multiplied them too, give it the table times that factor.
# - **Padding.** Ours masks id 0 everywhere. TFA masks what you tell it to:
#   `memory_sequence_length` without `memory` is ignored by the constructor, so a
#   program that passes it there attends to padding. The outputs of the two agree
#   if yours passed it to `setup_memory`, and a mask to the encoder. If it did
#   not, what it wrote depends on how far a batch is padded. For its numbers,
#   leave `Seq2Seq` out: embed without `mask_zero`, and call `AttentionDecoder`
#   without a `memory_mask`; `load_tfa_weights` fills such layers one by one. Or
#   load its weights into a `Seq2Seq`, and train on: padding is masked from then
#   on.
# - **Noise.** TFA's monotonic mechanisms add `sigmoid_noise` at inference too,
#   ours in training only.
#
# So a wrapper with an attentional layer is

# %%
from keras import layers

from keras_attention import AttentionDecoderCell
from keras_attention import LuongGeneral

UNITS = 32
cell = AttentionDecoderCell(
    layers.LSTMCell(UNITS),
    LuongGeneral(),
    order="luong",
    attention_layer_size=UNITS,
    attention_activation=None,
)

# %% [markdown]
# ## Names
#
# | `tfa.seq2seq` | here |
# | --- | --- |
# | `BahdanauAttention(units, normalize=True)` | `BahdanauAttention(units, normalize=True)` |
# | `LuongAttention(units, scale=True)` | `LuongGeneral(use_scale=True)`; its units are the query's |
# | `BahdanauMonotonicAttention(mode=...)` | `BahdanauAttention(units, alignment=Monotonic(mode, score_bias, sigmoid_noise))` |
# | `LuongMonotonicAttention` | `LuongGeneral(alignment=Monotonic(...))` |
# | `AttentionMechanism` | `AbstractAttention`, for a score of your own |
# | `probability_fn="softmax"`, `"hardmax"` | `alignment="softmax"`; for hardmax see below. Also `"sparsemax"`, `"entmax15"` and others |
# | `memory`, `setup_memory` | an argument: `layer(query, memory)`, or `layer.prepare(memory)` once and `layer.step(...)`. Nothing is kept between calls |
# | `memory_sequence_length` | `value_mask`, or the mask that an `Embedding(mask_zero=True)` carries. Of lengths: `np.arange(T) < lengths[:, None]`. A source without real words gets weights 0 instead of an error |
# | `AttentionWrapper` | `AttentionDecoderCell(cell, attention, order="luong")` |
# | `attention_layer_size` | the same name, with `attention_activation=None`. TFA has a layer for each mechanism; ours has one for all contexts together |
# | `attention_layer` | `attention_layer_size`, `attention_activation`, `attention_use_bias` |
# | `cell_input_fn` | `input_feeding=False` to leave the attention out; other functions are not here, because the loop projects inputs before it begins: wrap the cell |
# | `output_attention` | `output="attention"` or `"cell"` |
# | `alignment_history` | `return_attention_scores=True`, and `Generation.weights` of a search |
# | `initial_cell_state` | `initial_state` of `AttentionDecoder`; `StateBridge` makes it of an encoder's states |
# | `AttentionWrapperState` | a flat list: `AttentionDecoder(cell, return_state=True)` |
# | `BasicDecoder` with `TrainingSampler` | `AttentionDecoder(cell)` |
# | `TrainingSampler` | the sequence that `AttentionDecoder` is called with |
# | `BasicDecoderOutput` | outputs are tensors; ids are `Generation.tokens` |
# | `GreedyEmbeddingSampler` | `GreedySearch(max_length, start_id, end_id)` |
# | `SampleEmbeddingSampler` | `Sampling(temperature, top_k, top_p, seed)` |
# | `ScheduledEmbeddingTrainingSampler` | `Seq2Seq(scheduled_sampling=True)` with the callback `ScheduledSampling` |
# | `ScheduledOutputTrainingSampler` | `FreeRunningDecoder`, which trains on its own outputs alone; see below. A mixture with known inputs is not here: `cell.step` in a loop of your own takes any inputs |
# | `InferenceSampler`, `CustomSampler`, `Sampler` | `FreeRunningDecoder` for inputs that are no ids, with `sample_fn` and `next_inputs_fn` as `feed`, and `end_fn` as `stop`; see below. For ids a subclass of `AbstractSearch` |
# | `BeamSearchDecoder` | `BeamSearch(beam_size, n_best, length_penalty, coverage_penalty)` |
# | `BeamSearchDecoderOutput`, `BeamSearchDecoderState`, `FinalBeamSearchDecoderOutput` | `Generation`: `tokens`, `scores`, `lengths`, `weights`, best first |
# | `tile_batch` | not here, because nothing is tiled: the beams of a source share its memory |
# | `gather_tree`, `gather_tree_from_array` | not here, because searches return whole texts |
# | `dynamic_decode` | `search(step, state, batch_size)` for generating, `AttentionDecoder` for known inputs |
# | `Decoder`, `BaseDecoder` | `AbstractSearch`, or a loop over `cell.step` |
# | `SequenceLoss`, `sequence_loss` | `SequenceCrossentropy(label_smoothing)`: the mean over all real tokens of the batch. That is `average_across_timesteps=True, average_across_batch=True` |
# | `hardmax` | not here as a function; as an alignment see below |
# | `monotonic_attention` | `Monotonic(mode)`: `"parallel"`, `"recursive"` or `"hard"`. Ours starts its product at the first position that can be reached, so long sources keep their mass |
# | `safe_cumprod` | not here, because it is a part of `Monotonic` |
# | `tf.nn.safe_embedding_lookup_sparse` | `keras.layers.Embedding` with ids padded by 0, and its mask; sparse ids are not here, because a text is a row of ids |
# | `tfa.rnn.LayerNormLSTMCell` | `LayerNormLSTMCell`, with TFA's weights; `RecurrentEncoder(cell="layer_norm_lstm")` |
#
# Hardmax is an alignment in ten lines; it has no gradient, as in TFA:

# %%
import keras
from keras import ops

from keras_attention import AbstractAlignment
from keras_attention import BahdanauAttention


@keras.saving.register_keras_serializable(package="mine")
class Hardmax(AbstractAlignment):
    def align(self, scores, mask, state, noise, query, lengths):
        if mask is not None:
            scores = ops.where(mask, scores, -1e30)
        best = ops.argmax(scores, axis=-1)
        weights = ops.one_hot(best, ops.shape(scores)[-1], dtype=scores.dtype)
        if mask is not None:
            weights = ops.where(mask, weights, 0.0)
        return weights, state


attention = BahdanauAttention(UNITS, alignment=Hardmax())

# %% [markdown]
# A decoder whose outputs are its next inputs, such as frames of speech, until
# `stop` is true of one:

# %%
import numpy as np

from keras_attention import AttentionDecoder
from keras_attention import FreeRunningDecoder


def is_over(frame):
    return frame[:, 0] > 0.9


speaker = AttentionDecoderCell(layers.GRUCell(UNITS), BahdanauAttention(UNITS))
run = FreeRunningDecoder(
    AttentionDecoder(speaker), layers.Dense(3), steps=8, stop=is_over
)
frames = run(np.zeros((2, 3)), np.ones((2, 7, 12)))  # (2, 8, 3)

# %% [markdown]
# ## One program in both
#
# The task is that of TFA's tutorial: an LSTM reads a sentence, and another one
# with Luong's attention writes its translation. Ids 2 and 3 begin and end a
# sentence, and 0 pads it. The sentences here are random, and the translation
# repeats them.

# %%
import numpy as np

WORDS, SIZE, UNITS = 30, 16, 32  # 256 and 1024 in the tutorial
START, END = 2, 3
draw = np.random.default_rng(0)
lengths = draw.integers(3, 7, 64)
source = draw.integers(4, WORDS, (64, 8))
source[:, 0] = START
source[np.arange(64), lengths] = END
source[np.arange(8) > lengths[:, None]] = 0
target = source

# %% [markdown]
# ### The model
#
# With TensorFlow Addons on TensorFlow 2.15:
#
# ```py
# import tensorflow as tf
# import tensorflow_addons as tfa
#
#
# def real_words(ids):
#     return tf.math.count_nonzero(ids, axis=1, dtype=tf.int32)
#
#
# class Encoder(tf.keras.Model):
#     def __init__(self):
#         super().__init__()
#         self.embedding = tf.keras.layers.Embedding(WORDS, SIZE, mask_zero=True)
#         self.lstm = tf.keras.layers.LSTM(
#             UNITS, return_sequences=True, return_state=True
#         )
#
#     def call(self, source):
#         memory, *states = self.lstm(self.embedding(source))
#         return memory, states
#
#
# class Decoder(tf.keras.Model):
#     def __init__(self):
#         super().__init__()
#         self.embedding = tf.keras.layers.Embedding(WORDS, SIZE)
#         self.attention = tfa.seq2seq.LuongAttention(UNITS)
#         self.wrapper = tfa.seq2seq.AttentionWrapper(
#             tf.keras.layers.LSTMCell(UNITS),
#             self.attention,
#             attention_layer_size=UNITS,
#         )
#         self.output_layer = tf.keras.layers.Dense(WORDS)
#         self.decoder = tfa.seq2seq.BasicDecoder(
#             self.wrapper, tfa.seq2seq.TrainingSampler(), self.output_layer
#         )
#
#     def first_state(self, source, memory, states, beams=1):
#         lengths = real_words(source)
#         memory, lengths, states = tfa.seq2seq.tile_batch(
#             (memory, lengths, states), beams
#         )
#         self.attention.setup_memory(memory, memory_sequence_length=lengths)
#         first = self.wrapper.get_initial_state(
#             batch_size=len(source) * beams, dtype=tf.float32
#         )
#         return first.clone(cell_state=states)
#
#     def call(self, source, memory, states, target):
#         found, _, _ = self.decoder(
#             self.embedding(target),
#             initial_state=self.first_state(source, memory, states),
#             sequence_length=real_words(target),
#         )
#         return found.rnn_output
#
#
# encoder, decoder = Encoder(), Decoder()
# ```
#
# Here, with the cell from above:

# %%
from keras_attention import AttentionDecoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy

model = Seq2Seq(
    source_vocabulary_size=WORDS,
    target_vocabulary_size=WORDS,
    embedding_dim=SIZE,
    encoder=layers.LSTM(UNITS, return_sequences=True, return_state=True),
    decoder=AttentionDecoder(cell),
)

# %% [markdown]
# An encoder in both directions is a `RecurrentEncoder`, and
# `StateBridge("concat")` joins its states as `tf.concat` did. Beams are not
# tiled, and lengths are not counted: the mask comes from the ids.
#
# ### Training
#
# With TensorFlow Addons:
#
# ```py
# optimizer = tf.keras.optimizers.Adam(0.01)
# for _ in range(60):
#     with tf.GradientTape() as tape:
#         memory, states = encoder(source)
#         logits = decoder(source, memory, states, target[:, :-1])
#         labels = target[:, 1:]
#         loss = tfa.seq2seq.sequence_loss(
#             logits, labels, tf.cast(labels != 0, tf.float32)
#         )
#     weights = encoder.trainable_variables + decoder.trainable_variables
#     optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
# tf.train.Checkpoint(encoder=encoder, decoder=decoder).save("nmt")
# ```
#
# Here:

# %%
model.compile(keras.optimizers.Adam(0.01), loss=SequenceCrossentropy())
history = model.fit(
    (source, target[:, :-1]), target[:, 1:], epochs=30, verbose=0
)
print("loss:", *(f"{x:.2f}" for x in history.history["loss"][::10]))

# %% [markdown]
# ### Search
#
# With TensorFlow Addons:
#
# ```py
# memory, states = encoder(source)
# starts = tf.fill((len(source),), START)
# greedy, _, _ = tfa.seq2seq.BasicDecoder(
#     decoder.wrapper,
#     tfa.seq2seq.GreedyEmbeddingSampler(),
#     decoder.output_layer,
#     maximum_iterations=10,
# )(
#     decoder.embedding.embeddings,
#     start_tokens=starts,
#     end_token=END,
#     initial_state=decoder.first_state(source, memory, states),
# )
# beams, _, _ = tfa.seq2seq.BeamSearchDecoder(
#     decoder.wrapper,
#     beam_width=5,
#     output_layer=decoder.output_layer,
#     maximum_iterations=10,
# )(
#     decoder.embedding.embeddings,
#     start_tokens=starts,
#     end_token=END,
#     initial_state=decoder.first_state(source, memory, states, beams=5),
# )
# ```
#
# Here:

# %%
from keras_attention import BeamSearch
from keras_attention import GreedySearch

greedy = model.generate(source, GreedySearch(max_length=10))
beams = model.generate(source, BeamSearch(5, max_length=10))
print(source[0], "->", np.array(beams.tokens)[0, 0])

# %% [markdown]
# ## The weights of the other program
#
# `load_tfa_weights` takes the checkpoint that it has saved. Then both give the
# same: logits, greedy texts, and the texts of beam search.

# %%
from pathlib import Path

import keras_attention
from keras_attention import load_tfa_weights

SAVED = Path(keras_attention.__file__).parents[1] / "tests/golden/tfa/page"
load_tfa_weights(model, SAVED / "nmt-1")

theirs = np.load(SAVED / "found.npz")
logits = np.array(model((source[:8], target[:8, :-1])))
real = target[:8, :-1] != 0
difference = np.abs(logits - theirs["logits"])[real].max()
print(f"largest difference of the logits: {difference:.0e}")

greedy = model.generate(source, GreedySearch(max_length=10))
beams = model.generate(source, BeamSearch(5, max_length=10))
for name, ours in {"greedy": greedy, "beams": beams}.items():
    words = theirs[name]
    ours = np.array(ours.tokens)[:, 0, : words.shape[1]]
    same = (ours == words) | (ours == 0)  # TFA repeats the end
    print(f"{name}: {same.all(axis=1).sum()} of {len(words)} texts are equal")

# %% [markdown]
# ## The rest of the tutorial
#
# TFA's tutorial begins with sentences and ends with a translation:
#
# | in the tutorial | here |
# | --- | --- |
# | reading pairs of a file, cleaning them, adding `<start>` and `<end>` | `parallel_dataset` reads two files, a sentence a line; `WordTokenizer(..., lowercase=True)` cleans, and ids of start and end are added |
# | `tf.keras.preprocessing.text.Tokenizer`, which is not in Keras 3 | `WordTokenizer.train`, or pieces of words: `SentencePieceTokenizer.train` |
# | `pad_sequences`, `tf.data`, shuffling | `parallel_dataset`: buckets of like lengths, shuffled by a seed |
# | `train_step`, the loop over epochs, printing | `fit`, and Keras' callbacks |
# | `tf.train.Checkpoint` every other epoch | `resumable_fit`, which goes on bit by bit where it stopped |
# | `evaluate_sentence`, `beam_evaluate_sentence`, `translate` | `Translator(model, ..., BeamSearch(3))` |

# %%
from keras_attention import Translator
from keras_attention import WordTokenizer
from keras_attention import parallel_dataset

english = ["he sees her .", "she sees him .", "I see him ."] * 20
spanish = ["él la ve .", "ella lo ve .", "yo lo veo ."] * 20
files = Path("train.en"), Path("train.es")
tokenizers = [WordTokenizer.train(lines, 100) for lines in (english, spanish)]
for file, lines in zip(files, (english, spanish)):
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")

sizes = [tokenizer.vocabulary_size for tokenizer in tokenizers]
cell = AttentionDecoderCell(
    layers.LSTMCell(UNITS), BahdanauAttention(UNITS), order="luong"
)
model = Seq2Seq(
    source_vocabulary_size=sizes[0],
    target_vocabulary_size=sizes[1],
    embedding_dim=SIZE,
    encoder=layers.LSTM(UNITS, return_sequences=True, return_state=True),
    decoder=AttentionDecoder(cell),
)
model.compile(keras.optimizers.Adam(0.02), loss=SequenceCrossentropy())
batches = parallel_dataset(*files, *tokenizers, 20, training=True, seed=1)
model.fit(batches, epochs=15, shuffle=False, verbose=0)
translate = Translator(model, *tokenizers, BeamSearch(3, max_length=10))
print(translate(["she sees him .", "he sees her ."]))

# %% [markdown]
# Larger texts, BLEU, and a served model are in [from files to a
# server](translate.md).
#
# ## What else can be loaded
#
# `load_tfa_weights` also takes a `.h5` or `.weights.h5` file of Keras 2, the
# folder of a SavedModel, of which it reads the variables alone, and a
# dictionary. That is the way out for anything special: in TFA's program save
# `{v.name: v.numpy() for v in model.variables}` with `np.savez`, and change here
# what you like. If two layers have the same name, a dictionary holds only one of
# them: use a checkpoint.
#
# The target is a model, a decoder, a cell, an attention, or any Keras layer.
# `prefix` picks a part of a source. If anything is missing, left over or of
# another shape, the error lists all of it, and nothing is changed.
#
# Objects are told apart by names, and last by counters: of `embedding` and
# `embedding_1` the first is the source's. If the names say neither "encoder" nor
# "decoder" and differ in more than counters, such as `en` and `de`, none is taken:
# rename them in a dictionary. Shapes tell nothing. A `.weights.h5` file has numbers
# in place of names, such as `vars/0`, so the name of the layer must tell what they
# are, as `_cell`, `source_embedding`, `dense_1` and `bahdanau_attention` do. For
# other layers save a checkpoint, or pass a dictionary.
#
# | in TFA and Keras 2 | here |
# | --- | --- |
# | `BahdanauAttention/kernel`, `query_layer/kernel` | `query_kernel` |
# | `memory_layer/kernel` | `key_kernel`; transposed, `kernel` of `LuongGeneral` |
# | `attention_v`, `attention_g`, `attention_b` | `score_vector`, `gain`, `bias` |
# | `attention_g` of Luong's score, `scale_weight` | `scale` |
# | `attention_score_bias` | `score_bias` of `Monotonic` |
# | `attention_layer/kernel` | `attention_kernel`; of several layers, one with zeros between them |
# | `lstm_cell/kernel`, `recurrent_kernel`, `bias` | the same, in the same order of gates |
# | `embedding/embeddings` | over the square root of its size |
#
# Not supported, because they are laid out in another way: cells of TensorFlow 1
# (`tf.compat.v1.nn.rnn_cell`, whose `gates/kernel` or `basic_lstm_cell/kernel`
# joins inputs and state), opaque weights of cuDNN, and `CuDNNLSTM` and
# `CuDNNGRU`, whose bias has another size. Layers of Keras 2 that ran on cuDNN
# are: their weights are those of any other. A `GRUCell` that was made with
# `reset_after=False`, the default of TensorFlow 1, needs the same here. Tied
# embeddings are not supported either, because `Seq2Seq` scales only one of the
# two.
#
# ## The same numbers
#
# `benchmarks/tfa_golden.py` builds 24 programs with TensorFlow Addons 0.23: all
# mechanisms and modes, one and several, LSTM, GRU (also with
# `reset_after=False`), SimpleRNN, LayerNormLSTM and stacked cells, with and
# without an attentional layer, with padding and initial states. Ours, with their
# weights, gives the same logits, weights, greedy texts, and texts and scores of
# beam search, to 1e-5 (`tests/migration`).
#
# Searches differ by design where TFA's definition is another one:
#
# - **Length penalty.** TFA divides by `((5 + n) / 6)^a` with an `n` that leaves
#   the end token out in the step in which a text ends, and counts it in all
#   later steps. Ours always counts it. Without a penalty both are the same.
# - **Coverage penalty.** TFA takes a position whose weight is exactly 0 for
#   padding, and ours takes the mask.
# - **After the end.** TFA repeats the end token; ours is 0, and `lengths` tells
#   how long a text is.
# - **Ids that are never words.** `Seq2Seq.generate` gives neither 0 nor the start
#   id, and TFA may.
# - **When to stop.** TFA goes on until all beams have ended; ours stops as soon
#   as the best `n_best` cannot change.
