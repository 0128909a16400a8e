# %% [markdown]
# # From two files to a served translator
#
# Two files with a sentence a line, German and English, become a model that a
# server runs: text in, text out, with beam search inside. The corpus is made up
# here and tiny, so that this page runs in seconds; every line stays as it is
# for a real one.

# %%
import itertools
import random
import subprocess
import sys
from pathlib import Path

from keras import layers

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import BeamSearch
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import TokenAccuracy
from keras_attention import Translator
from keras_attention import WordTokenizer
from keras_attention import parallel_dataset

# %% [markdown]
# ## The files
#
# German puts its participle last, so the order of the words differs. One
# sentence in ten is held out.

# %%
WHO = {"der Hund": "the dog", "die Katze": "the cat", "das Kind": "the child"}
WHAT = {"das Brot": "the bread", "den Ball": "the ball", "das Buch": "the book"}
DID = {"gesehen": "seen", "gefunden": "found", "verloren": "lost"}
HOW = {"": "", "heute ": "today ", "gestern ": "yesterday "}

pairs = [
    (
        f"{who} hat {how}{what} {did}.",
        f"{WHO[who]} has {HOW[how]}{DID[did]} {WHAT[what]}.",
    )
    for who, what, did, how in itertools.product(WHO, WHAT, DID, HOW)
]
random.Random(0).shuffle(pairs)
for part, chosen in {"val": pairs[:8], "train": pairs[8:] * 8}.items():
    for language, lines in zip(("de", "en"), zip(*chosen)):
        Path(f"{part}.{language}").write_text("\n".join(lines) + "\n")
print(*pairs[0], len(pairs), sep="\n")

# %% [markdown]
# ## Words become ids
#
# A tokenizer is trained on strings or on files. Ids 0 to 3 are padding, unknown,
# start and end. `parallel_dataset` reads both files, sorts sentences into
# buckets of similar length, shuffles by the seed, and pads.

# %%
files = Path("train.de"), Path("train.en")
tokenizers = [WordTokenizer.train([file], 100) for file in files]
train = parallel_dataset(*files, *tokenizers, 32, training=True, seed=1)
val = parallel_dataset("val.de", "val.en", *tokenizers, 32)
(source, target), wanted = next(iter(train))
print(source[0].numpy())
print(tokenizers[0].detokenize(source[:1].numpy())[0])

# %% [markdown]
# ## The model
#
# Encoder, bridge and decoder are layers that you may replace. The same cell
# trains, searches and is exported.

# %%
cell = AttentionDecoderCell(layers.LSTMCell(64), BahdanauAttention(32))
model = Seq2Seq(
    source_vocabulary_size=tokenizers[0].vocabulary_size,
    target_vocabulary_size=tokenizers[1].vocabulary_size,
    embedding_dim=32,
    encoder=RecurrentEncoder(32),
    bridge=StateBridge(),
    decoder=AttentionDecoder(cell),
)
model.compile("adam", SequenceCrossentropy(), metrics=[TokenAccuracy()])
model.optimizer.learning_rate = 0.01
history = model.fit(
    train, validation_data=val, epochs=4, shuffle=False, verbose=0
)
for name, values in history.history.items():
    print(f"{name:20}", *(f"{x:7.3f}" for x in values))

# %% [markdown]
# ## Text to text
#
# With its tokenizers and a search the model is a translator. All sentences of
# the validation file are new to it.

# %%
translator = Translator(model, *tokenizers, BeamSearch(3, max_length=12))
german, english = zip(*pairs[:8])
found = translator(german)
print("right:", sum(x == y for x, y in zip(found, english)), "of", len(found))
for line in zip(german[:3], found):
    print(" -> ".join(line))

# %% [markdown]
# A translator takes lists, arrays, columns of tables, tensors and `tf.data`, and
# sorts sentences into batches of similar length. A terminal shows a progress
# bar. With `replace_unknown=True` it replaces an unknown word by the source word
# with the largest weight. Threads may share it, and it can be pickled for other
# processes. Scores, several texts and the attention come on request:

# %%
result = translator(
    german[:1], return_scores=True, return_attention_scores=True
)
print(result.scores, result.source_tokens[0], result.target_tokens[0])

# %% [markdown]
# ## Save, load, serve
#
# `save` writes a folder with everything. `export` writes a SavedModel: one graph
# with tokenizers, model and beam search, which needs neither Keras nor this
# library. (With tokenizers of pieces, a program that loads it [imports
# `tensorflow_text`](exporting.md#a-savedmodel-for-servers).) It is run and
# compared with the model before it is handed over.

# %%
translator.save("de_en")
translator = Translator.load("de_en")
translator.export("de_en_served/1")
program = f"""
import tensorflow as tf

served = tf.saved_model.load("de_en_served/1")
answer = served.signatures["serving_default"](tf.constant({german[:2]}))
for name, values in sorted(answer.items()):
    print(name, values.shape, values.numpy()[0])
"""
run = subprocess.run(
    [sys.executable, "-c", program], capture_output=True, text=True
)
print(run.stdout or run.stderr)

# %% [markdown]
# TensorFlow Serving serves this folder as it is: see [serving](serving.md). For
# phones and browsers see [exporting](exporting.md). What a long training needs
# besides is on [a page of its own](training.md). A model of real size, with
# BLEU on Multi30k, is `examples/translate_multi30k.py`.
