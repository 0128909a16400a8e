# %% [markdown]
# # Serving
#
# From a translator to a service: versions, warm-up, requests over HTTP, batches,
# health; then the same model in a program for a phone, and in onnxruntime. What
# each format can do is on [exporting](exporting.md).
#
# This page runs in a clone of the repository, since it uses the files of
# `examples/serve`: warm-up, client, and a stand-in for TensorFlow Serving that
# answers the same protocols. With the real server only one line differs, and it
# is [shown as well](tensorflow_serving.md).
#
# The model reverses words, letter by letter.

# %%
import json
import random
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import tensorflow as tf
from keras import layers

import keras_attention
from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import BeamSearch
from keras_attention import CharacterTokenizer
from keras_attention import GreedySearch
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import Translator

EXAMPLES = Path(keras_attention.__file__).parents[1] / "examples"
sys.path.append(str(EXAMPLES / "serve"))

draw = random.Random(0)
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

# %% [markdown]
# ## Versions
#
# A server looks for numbered folders below the folder of a model. The search is
# inside the graph, so another search is another version: 1 is greedy, 2 keeps
# five beams and gives the two best.

# %%
for version, search in (
    (1, GreedySearch(max_length=8)),
    (2, BeamSearch(5, n_best=2, max_length=8)),
):
    translator = Translator(model, tokenizer, tokenizer, search)
    translator.export(f"models/reverse/{version}")

Path("model.config").write_text("""
model_config_list {
  config {
    name: "reverse"
    base_path: "/models/reverse"
    model_platform: "tensorflow"
    model_version_policy { specific { versions: 1 versions: 2 } }
  }
}
""")
print(*sorted(str(path) for path in Path("models").glob("*/*/*")), sep="\n")

# %% [markdown]
# With `latest { num_versions: 1 }` in place of `specific`, the real server loads
# a new folder as soon as it is there, and then unloads the old one. `export`
# writes a folder whole or not at all: it is moved to its place when it has been
# run and compared with the model. To go back, name the old version in `specific`.
#
# ## Warm up
#
# The first request to a graph is slow: TensorFlow optimizes it only then.

# %%
load = tf.saved_model.load("models/reverse/2").signatures["serving_default"]
text = tf.constant(["fade"])
seconds = []
for _ in range(20):
    start = time.perf_counter()
    load(text)
    seconds.append(time.perf_counter() - start)
first, usual = seconds[0], sorted(seconds)[10]
print(f"first request: {first / usual:.0f} times the usual one")

# %% [markdown]
# `examples/serve/warm_up.py` writes requests into the folder, which the server
# runs before it accepts any other: each text alone, and all in one batch. A graph
# of ours takes any length and any number of texts, so a few requests are enough.

# %%
import warm_up

warm_up.main("models/reverse/2", ["abc", "fade", "beefad"])
warm_up.main("models/reverse/1", ["abc"])

# %% [markdown]
# ## Start
#
# The real server is one line:
#
# ```sh
# docker run --rm -p 8500:8500 -p 8501:8501 \
#   -v "$PWD/models:/models:ro" -v "$PWD/model.config:/model.config:ro" \
#   tensorflow/serving --model_config_file=/model.config
# ```
#
# Here the stand-in reads the same configuration and the same folders:

# %%
server = subprocess.Popen(
    [
        *(sys.executable, EXAMPLES / "serve" / "stand_in_server.py"),
        *("--model_config_file", "model.config", "--models", "models"),
        *("--port", "0", "--rest_api_port", "0"),
    ],
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
    text=True,
)
for line in server.stdout:
    if "REST on port" in line:
        break
    print(line, end="")
address = f"http://127.0.0.1:{line.split()[-1]}/v1/models/reverse"

# %% [markdown]
# ## Ask
#
# `instances` is a row for each text, and the answer has a row for each as well:


# %%
def ask(path, content=None):
    """Send JSON, or nothing, and read the JSON of the answer."""
    body = None if content is None else json.dumps(content).encode()
    with urllib.request.urlopen(address + path, body, timeout=60) as answer:
        return json.load(answer)


for row in ask(":predict", {"instances": ["abc", "fade"]})["predictions"]:
    print(row["translations"], [round(x, 2) for x in row["scores"]])

# %% [markdown]
# Without a version the highest one answers. A path with a version asks for that
# one, such as for a comparison while a new one is tried:

# %%
print(ask("/versions/1:predict", {"instances": ["abc"]})["predictions"])

# %% [markdown]
# The signature `align` also says where each token looked:

# %%
(row,) = ask(
    "/versions/1:predict", {"signature_name": "align", "instances": ["fade"]}
)["predictions"]
for token, weights in zip(row["target_tokens"][0], row["attention"][0]):
    if token:
        most = max(range(len(weights)), key=weights.__getitem__)
        print(token, "looks at", row["source_tokens"][most])

# %% [markdown]
# A wrong request is answered by an error, and the server goes on:

# %%
try:
    ask(":predict", {"instances": [{"sentence": "abc"}]})
except urllib.error.HTTPError as error:
    print(error.code, json.load(error)["error"])

# %% [markdown]
# `examples/serve/client.py` asks by gRPC as well, which takes any bytes and an
# empty batch. JSON allows neither.
#
# ## Health
#
# A load balancer asks for the state of a model, and sends requests only where it
# is `AVAILABLE`:

# %%
print(ask("")["model_version_status"][0]["state"])
server.terminate()
server.wait()

# %% [markdown]
# The real server also counts for Prometheus, at `/monitoring/prometheus/metrics`,
# with `--monitoring_config_file` and this file: requests, errors, and their times.
#
# ```text
# prometheus_config { enable: true, path: "/monitoring/prometheus/metrics" }
# ```
#
# ## Batches
#
# Several texts in one request are far cheaper than several requests, since every
# step reads all weights, whether for one text or for many:

# %%
pool = tf.constant(words[:64])
for size in (1, 8, 64):
    batch, seconds = pool[:size], []
    for _ in range(10):
        start = time.perf_counter()
        load(batch)
        seconds.append(time.perf_counter() - start)
    best = min(seconds)
    print(f"batch {size:2}: {size / best:6.0f} texts a second")

# %% [markdown]
# The server can join requests that come at the same time: `--enable_batching` and
# `--batching_parameters_file`. `examples/serve/batching.config` has numbers for a
# CPU, with their reasons, from what `benchmarks/serving.py` measures. No text of a
# batch changes another one's translation; padding happens inside the graph.
#
# A batch is as slow as its longest text. `translator.export(...)` of a translator
# with a smaller `max_source_length`, and a search with a smaller `max_length`,
# bound what one request can cost.
#
# ## On a phone
#
# `examples/litert_translate.py` is a whole client without TensorFlow: LiteRT, and
# the tokenizers that are inside of the file. An app does the same in Kotlin or
# Swift, with one file to ship.

# %%
greedy = Translator(model, tokenizer, tokenizer, GreedySearch(max_length=8))
greedy.export("reverse.tflite", "litert", quantize="int8")
said = subprocess.run(
    [
        sys.executable,
        EXAMPLES / "litert_translate.py",
        "reverse.tflite",
        "fade",
    ],
    capture_output=True,
    text=True,
    check=True,
)
print(said.stdout)

# %% [markdown]
# ## In onnxruntime
#
# The file and its session are on [exporting](exporting.md#onnx-for-onnxruntime).
# One session serves all threads of a process. Give it the threads that one
# request may use, and let its pool sleep between requests instead of spinning:
#
# ```python
# options = onnxruntime.SessionOptions()
# options.intra_op_num_threads = 1
# options.add_session_config_entry("session.intra_op.allow_spinning", "0")
# session = onnxruntime.InferenceSession("reverse.onnx", options)
# ```
#
# ## In one process for months
#
# A server of your own keeps one `Translator`, which all threads share.
#
# - **Processes.** A child that is made by `fork` after TensorFlow has run hangs in
#   its first operation. Start children by `spawn`, as by
#   `multiprocessing.get_context("spawn")`, and give them the translator itself: it
#   can be pickled.
# - **Reloads.** A translator that is dropped goes with its model. TensorFlow keeps
#   compiled kernels of what was loaded, called or exported;
#   `keras.backend.clear_session()` frees them. Call it after reloads, when no
#   request runs: it also resets what is set in Keras for the process, such as a
#   dtype policy or a distribution, and names of layers begin anew. What stays of a
#   model that was trained is on [a page of its own](../hood/fast_loop.md#when-it-is-freed).
# - **Training beside it.** Keras' own recurrent layers keep their dropout masks on
#   the cell, such as the encoder `Bidirectional(LSTM(64, dropout=0.1))`. Threads
#   that train one model would use each other's: give that model a
#   `RecurrentEncoder`, which keeps none.
# - **Exports.** An export changes layers of the model as long as it traces them:
#   load the folder once more, and export that one.
#
# ## Which one is fast?
#
# `benchmarks/serving.py` measures all of them side by side, with load time,
# memory, latency and sentences a second: see
# [benchmarks](../hood/benchmarks.md#serving).
