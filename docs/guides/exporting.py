# %% [markdown]
# # Exporting: server, phone, onnxruntime
#
# `export_model` exports any Keras model, and `Translator.export` a translator with
# its tokenizers and its search. Both write a draft, run it in its runtime, compare
# the results with those of the model, and only then replace the old file.

# %%
import random
import subprocess
import sys
import zipfile
from pathlib import Path

import keras
import numpy as np
import onnxruntime
from ai_edge_litert.interpreter import Interpreter
from keras import layers

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import AttentionPooling
from keras_attention import BahdanauAttention
from keras_attention import CharacterTokenizer
from keras_attention import GreedySearch
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import Translator
from keras_attention import export_model

draw = random.Random(0)

# %% [markdown]
# ## A classifier
#
# The model decides which of two letters a word contains more often.

# %%
letters = CharacterTokenizer("ab")
texts = ["".join(draw.choices("ab", k=draw.randint(1, 9))) for _ in range(500)]
ids = letters.tokenize(texts)
classes = np.array([text.count("b") > text.count("a") for text in texts])

inputs = keras.Input((None,), dtype="int32", name="ids")
x = layers.Embedding(letters.vocabulary_size, 16, mask_zero=True)(inputs)
x = layers.Bidirectional(layers.LSTM(16, return_sequences=True))(x)
x = AttentionPooling(16)(x)
outputs = layers.Dense(1, "sigmoid", name="more_b")(x)
classifier = keras.Model(inputs, outputs)
classifier.compile("adam", "binary_crossentropy")
classifier.optimizer.learning_rate = 0.01
classifier.fit(ids, classes, epochs=8, verbose=0)

export_model(classifier, "letters.tflite", sample=ids[:4])
export_model(classifier, "letters.onnx", sample=ids[:4])
export_model(classifier, "letters/1", sample=ids[:4])

# %% [markdown]
# `sample` contains examples of what the model takes: an array, or a list or
# dictionary of arrays. The files take batches of any size and sequences of any
# length. Inputs and outputs have the names that they have in the model.

# %%
new = letters.tokenize(["aab", "b", "abbbaabbb"])
run = Interpreter("letters.tflite").get_signature_runner("serving_default")
print(run(ids=new)["more_b"].ravel())
session = onnxruntime.InferenceSession("letters.onnx")
print(session.run(["more_b"], {"ids": new})[0].ravel())
print(classifier.predict(new, verbose=0).ravel())

# %% [markdown]
# | format | `quantize` | runs |
# | --- | --- | --- |
# | `*.tflite` | `"float16"`, `"int8"`, `"full_int8"` | in LiteRT, with built-in operations |
# | `*.onnx` | `"int8"` | in onnxruntime |
# | a folder | | wherever a SavedModel does, such as TensorFlow Serving |
#
# The model can be functional, a `Sequential` or a subclass of `keras.Model`, with
# layers of Keras, of this package or your own. If a format has no operation for a
# layer, the error names the layer, and nothing is written. A recurrent layer with
# `stateful=True` cannot be exported.
#
# `"int8"` stores weights in 8 bits, and computes as before. `"full_int8"` also computes in
# 8 bits, as processors without floating-point units need it: `sample` then shows which
# values occur, so it should have some hundred typical rows. It is refused for recurrent
# layers, since LiteRT computes loops in 8 bits with large errors, and if the results are
# far from those of the model.
#
# In a shell:
#
# ```sh
# keras-attention export letters.keras letters.tflite --sample ids.npy
# ```
#
# Time for one request on one core, size of the file, and the greatest difference
# from the model (`benchmarks/exported_models.py`). The machine was an AMD EPYC that
# did other work as well. The classifiers read 40 words with 64 units, and the
# forecaster writes 24 steps.
#
# | | classifier, LSTM | classifier, GRU | classifier, self-attention | forecaster |
# | --- | ---: | ---: | ---: | ---: |
# | SavedModel | 3.12 ms, 1,717 kB, 0 | 6.03 ms, 1,671 kB, 0 | 0.82 ms, 1,411 kB, 0 | 9.16 ms, 398 kB, 1e-08 |
# | LiteRT | 0.60 ms, 1,614 kB, 2e-09 | 0.67 ms, 1,548 kB, 1e-09 | 0.09 ms, 1,359 kB, 2e-07 | 0.71 ms, 210 kB, 2e-08 |
# | LiteRT float16 | 0.61 ms, 826 kB, 3e-06 | 0.66 ms, 793 kB, 2e-06 | 0.08 ms, 687 kB, 5e-04 | 0.70 ms, 134 kB, 6e-06 |
# | LiteRT int8 | 0.61 ms, 446 kB, 2e-05 | 0.63 ms, 426 kB, 4e-05 | 0.09 ms, 353 kB, 2e-03 | 0.67 ms, 102 kB, 1e-04 |
# | LiteRT full_int8 | refused | refused | 0.17 ms, 353 kB, 2e-02 | refused |
# | ONNX | 1.26 ms, 1,634 kB, 9e-10 | 1.50 ms, 1,576 kB, 4e-09 | 0.25 ms, 1,413 kB, 2e-07 | 1.73 ms, 231 kB, 5e-08 |
# | ONNX int8 | 1.36 ms, 482 kB, 5e-05 | 1.61 ms, 474 kB, 7e-05 | 0.26 ms, 462 kB, 2e-02 | 1.70 ms, 235 kB, 2e-04 |
# | SavedModel of Keras | 3.01 ms, 3,336 kB, 0 | 7.35 ms, 3,226 kB, 0 | 0.76 ms, 2,799 kB, 0 | 10.58 ms, 622 kB, 1e-08 |
# | ONNX of Keras | 1.30 ms, 1,636 kB, 9e-10 | 1.51 ms, 1,577 kB, 4e-09 | 0.24 ms, 1,414 kB, 1e-07 | 1.86 ms, 239 kB, 5e-08 |
# | `model.predict` | 138.05 ms | 146.65 ms | 91.64 ms | 150.13 ms |
#
# ## A translator
#
# The model here reverses words, letter by letter.

# %%
words = [
    "".join(draw.choices("abcdef", k=draw.randint(2, 6))) for _ in range(2000)
]
tokenizer = CharacterTokenizer("abcdef")
source = tokenizer.tokenize(words)
target = tokenizer.tokenize([word[::-1] for word in words])

cell = AttentionDecoderCell(layers.GRUCell(64), BahdanauAttention(32))
model = Seq2Seq(
    source_vocabulary_size=tokenizer.vocabulary_size,
    target_vocabulary_size=tokenizer.vocabulary_size,
    embedding_dim=32,
    encoder=RecurrentEncoder(32, cell="gru"),
    bridge=StateBridge(),
    decoder=AttentionDecoder(cell),
)
model.compile("adam", SequenceCrossentropy())
model.optimizer.learning_rate = 0.01
model.fit((source, target[:, :-1]), target[:, 1:], 64, epochs=4, verbose=0)
translator = Translator(model, tokenizer, tokenizer, GreedySearch(max_length=8))
print(translator(["abc", "fade", "beef"]))

# %% [markdown]
# ### A SavedModel, for servers
#
# Text in, text out. It runs in any program with TensorFlow, without Keras, and
# in TensorFlow Serving. Any batch, any length, any bytes.

# %%
translator.export("served/1")
program = """
import tensorflow as tf

served = tf.saved_model.load("served/1").signatures["serving_default"]
answer = served(tf.constant(["abc", "fade", ""]))
print(answer["translations"].numpy()[:, 0], answer["scores"].numpy()[:, 0])
"""
run = subprocess.run(
    [sys.executable, "-c", program], capture_output=True, text=True
)
print(run.stdout or run.stderr)

# %% [markdown]
# Tokenizers of pieces need one line more in such a program, `import
# tensorflow_text`; so do all of version 0.2. TensorFlow Serving has its
# operations built in.
#
# | tokenizer | error without this line |
# | --- | --- |
# | `SentencePieceTokenizer` | `Op type not registered 'SentencepieceOp' in binary running on ...` |
# | `WordPieceTokenizer` | `Op type not registered 'FastBertNormalize' in binary running on ...` |
# | of version 0.2 | `Op type not registered 'NormalizeUTF8' in binary running on ...` |
#
# Its signatures:
#
# | signature | `text: string [B]` gives |
# | --- | --- |
# | `serving_default` | `translations: string [B, N]`, `scores: float32 [B, N]` |
# | `align` | the same, `source_tokens: string [B, Tv]`, `target_tokens: string [B, N, T]`, `token_scores: float32 [B, N, T]`, `attention: float32 [B, N, T, Tv]` |
# | `constrained`, with a `BeamSearch` | `text` and `required: string [B, C]`, phrases of each translation: as `serving_default` |
#
# The folder is what TensorFlow Serving calls version 1 of a model. Versions,
# requests over HTTP, warm-up and batches: [serving](serving.md).
#
# ### LiteRT, for phones
#
# Ids in, ids out, with built-in operations alone. The file is also a ZIP
# archive with both tokenizers as JSON, so that an app needs one file. `"int8"`
# stores large weights in a quarter of the size.

# %%
translator.export("reverse.tflite", format="litert", quantize="int8")
print(Path("reverse.tflite").stat().st_size // 1024, "KiB")

ids = tokenizer.tokenize(["abc", "fade"])
runner = Interpreter("reverse.tflite").get_signature_runner("translate_ids")
answer = runner(source_ids=ids)
print(tokenizer.detokenize(answer["tokens"][:, 0]))
with zipfile.ZipFile("reverse.tflite") as archive:
    print(archive.namelist())

# %% [markdown]
# A program without TensorFlow that runs such a file, as an app does, is in
# [serving](serving.md#on-a-phone).
#
# ### ONNX, for onnxruntime

# %%
translator.export("reverse.onnx", format="onnx")
session = onnxruntime.InferenceSession("reverse.onnx")
tokens, scores = session.run(None, {"source_ids": ids})
print(tokenizer.detokenize(tokens[:, 0]))

# %% [markdown]
# `"onnx_text"` puts the tokenizers into the file as well, so that a server
# needs onnxruntime 1.20 or newer and nothing else. `quantize="int8"` stores the
# weights of products in 8 bits, in both formats; onnxruntime then rounds what
# comes into a product by the range of the batch, so of two results that are
# almost as good, one text may get the other in another batch.

# %%
translator.export("reverse_text.onnx", format="onnx_text")
program = """
import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession("reverse_text.onnx")
texts = np.array(["abc", "fade", ""], object)
translations, scores = session.run(None, {"text": texts})
print(translations[:, 0], scores[:, 0])
"""
run = subprocess.run(
    [sys.executable, "-c", program], capture_output=True, text=True
)
print(run.stdout or run.stderr)

# %% [markdown]
# What it gives for a text is what the translator gives, in any batch.
#
# Every format gives more if you ask for it. Formats of text give the tokens with them:
#
# ```python
# more = ("translations", "scores", "token_scores", "attention")
# translator.export("reverse_text.onnx", "onnx_text", outputs=more)
# ```
#
# A file gives as many translations as its search: `with_search(BeamSearch(5, n_best=5))`
# before the export, or `keras-attention export FOLDER FILE --n-best 5`.
# `"onnx_align"` is `"onnx_text"` with all outputs, as the signature `align` of a
# SavedModel; they are computed in every run.
#
# | tokenizer | in `"onnx_text"` |
# | --- | --- |
# | `CharacterTokenizer`, `SymbolTokenizer` | onnxruntime alone, all normalizations |
# | `WordTokenizer` | with `onnxruntime-extensions`; a NUL in a text is read as U+10FFFF |
# | `SentencePieceTokenizer`, `WordPieceTokenizer` | with `onnxruntime-extensions` on the source's side |
# | `TaggedTokenizer` | as the tokenizer inside of it |
# | several, of an `Ensemble` | as each of them |
# | any with `lowercase=True` | each character is lowered by itself, so that a final capital sigma becomes the sigma of other places |
# | your own | by its [steps](own_parts.md); `Replace` needs `onnxruntime-extensions` |
#
# With words and pieces, the program loads the operations of the extensions first. It must
# not load TensorFlow beside them: their regular expressions would find nothing.
#
# ```python
# from onnxruntime_extensions import get_library_path
#
# options = onnxruntime.SessionOptions()
# options.register_custom_ops_library(get_library_path())
# session = onnxruntime.InferenceSession("words.onnx", options)
# ```
#
# ## Which one?
#
# | | SavedModel | LiteRT | ONNX | ONNX with text |
# | --- | --- | --- | --- | --- |
# | from and to | text | ids | ids | text |
# | search in the graph | any but random ones outside of it | greedy, beam | greedy, beam | greedy, beam |
# | attention | signature `align`, `outputs` | `outputs` | `outputs` | `outputs` |
# | copying of unknown words | yes | no | no | yes |
# | runs in | TensorFlow Serving, TensorFlow | Android, iOS, microcomputers | onnxruntime, browsers | onnxruntime |
#
# Batches may have any size and texts any length. On the first 200 captions of
# Multi30k's test set SavedModel, LiteRT and ONNX find the same ids as the model,
# with greedy search and with five beams, and scores within 2e-5. Smaller weights
# hardly change the BLEU, lowercased, of a model of words that an earlier recipe
# trained from German to English (`benchmarks/exports.py`):
#
# | LiteRT weights | MB | BLEU, greedy | BLEU, 5 beams |
# | --- | --- | --- | --- |
# | float32 | 25.4 | 36.97 | 39.07 |
# | float16 | 12.9 | 36.97 | 39.07 |
# | int8 | 8.4 | 36.93 | 39.10 |
#
# A translator of features or images, `Translator(model, None, target_tokenizer)`, is
# exported in the same way: to text in a SavedModel and by `"onnx_text"`, to ids by `"onnx"`
# and `"litert"`. In place of `text` or `source_ids`, its inputs are
# `source: float32 [B, T, D]` and `source_mask: bool [B, T]`; images have no mask. Two
# examples end in such files: `caption_shapes.py` draws where the file looked for each
# word, and `read_morse.py` reads audio in LiteRT. `saved_models/captions` is the first one.
#
# ## In a shell
#
# ```sh
# keras-attention export FOLDER model.onnx --format onnx_text --n-best 5
# keras-attention translate model.onnx texts.txt --scores
# ```
#
# `translate` runs files of text, and those of ids of characters or symbols, without importing
# Keras: a word takes a third of a second.
#
# What the graph may not contain, and why, is on [a page of its
# own](../hood/exports.md).
