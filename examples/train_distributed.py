r"""Does training on two devices give the losses of one? A comparison.

Each mode trains the same small model on the same files, on one device and on
two devices. For every epoch, it prints both losses, and at the end the
throughput:

    python examples/train_distributed.py --mode mirrored
    python examples/train_distributed.py --mode data_parallel
    python examples/train_distributed.py --mode model_parallel
    python examples/train_distributed.py --mode two_processes
    python examples/train_distributed.py --mode multi_worker

`mirrored` and `multi_worker` use `tf.distribute`. The other modes use
`keras.distribution` on JAX, which must be installed. Without GPUs, the example
splits a processor into two devices. This shows that the numbers are right, but
training is not faster. `two_processes` and `multi_worker` start two processes
on this machine. On a cluster, start one process on each machine. Pass the
number of this process, the number of all processes, and the address of process
0:

    python examples/train_distributed.py --mode two_processes \
        --data FOLDER --process 0 --processes 2 --address HOST:PORT

`docs/distributed.md` has command lines for SLURM and Kubernetes.
"""

import argparse
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import CharacterTokenizer
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import parallel_dataset

ON_TENSORFLOW = "mirrored", "multi_worker"
ON_JAX = "data_parallel", "model_parallel", "two_processes"
IN_TWO_PROCESSES = "multi_worker", "two_processes"
MODES = "one", "one_replica", *ON_TENSORFLOW, *ON_JAX
PAIRS, BATCH_SIZE, UNITS, EPOCHS = 4096, 64, 64, 4
DIGITS, LETTERS, SPECIAL = "0123456789", "zyxwvutsrq", 4  # ids below these


def write_corpus(folder: Path, pairs: int):
    """Write numbers and their translations, a letter for each digit."""
    draw = np.random.default_rng(0)
    words = [
        draw.choice(list(DIGITS), draw.integers(1, 13)) for _ in range(pairs)
    ]
    text = "\n".join("".join(word) for word in words) + "\n"
    (folder / "source").write_text(text)
    translated = text.translate(str.maketrans(DIGITS, LETTERS))
    (folder / "target").write_text(translated)


def read(folder: Path, shard: tuple[int, int]):
    """Read this process's part of every batch of `BATCH_SIZE` pairs."""
    return parallel_dataset(
        folder / "source",
        folder / "target",
        CharacterTokenizer(DIGITS),
        CharacterTokenizer(LETTERS),
        batch_size=BATCH_SIZE // shard[1],
        training=True,
        seed=1,
        buckets=1,
        shard=shard,
    )


def make_model() -> Seq2Seq:
    """Make and compile a model, with all of its weights."""
    keras.utils.set_random_seed(0)
    cell = keras.layers.GRUCell(UNITS)
    model = Seq2Seq(
        source_vocabulary_size=len(DIGITS) + SPECIAL,
        target_vocabulary_size=len(LETTERS) + SPECIAL,
        embedding_dim=UNITS,
        encoder=RecurrentEncoder(UNITS // 2, cell="gru"),
        bridge=StateBridge(),
        decoder=AttentionDecoder(
            AttentionDecoderCell(cell, BahdanauAttention(UNITS))
        ),
    )
    model.build(((None, None), (None, None)))
    model.compile(keras.optimizers.Adam(0.003), loss=SequenceCrossentropy())
    return model


def split_vocabulary() -> keras.distribution.ModelParallel:
    """Split what is as large as the vocabulary: embeddings, output layer."""
    devices = keras.distribution.list_devices()
    mesh = keras.distribution.DeviceMesh(
        (1, len(devices)), ["batch", "model"], devices
    )
    layout = keras.distribution.LayoutMap(mesh)
    layout[".*(source|target)_embedding/embeddings"] = ("model", None)
    layout[".*output_layer/kernel"] = (None, "model")
    layout[".*output_layer/bias"] = ("model",)
    return keras.distribution.ModelParallel(
        layout_map=layout, batch_dim_name="batch"
    )


def prepare(mode: str, shard: tuple[int, int], address: str | None):
    """Set up devices, before anything is computed, and return a strategy."""
    if mode == "mirrored":
        if not tf.config.list_physical_devices("GPU"):
            tf.config.set_logical_device_configuration(
                tf.config.list_physical_devices("CPU")[0],
                2 * [tf.config.LogicalDeviceConfiguration()],
            )
            return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        return tf.distribute.MirroredStrategy()
    if mode == "one_replica":  # `fit` sees batches in the order of `mirrored`
        return tf.distribute.OneDeviceStrategy("CPU:0")
    if mode == "multi_worker":  # TF_CONFIG says where the processes are
        return tf.distribute.MultiWorkerMirroredStrategy()
    if mode == "two_processes":
        keras.distribution.initialize(address, shard[1], shard[0])
    if mode == "model_parallel":
        keras.distribution.set_distribution(split_vocabulary())
    elif mode in ON_JAX:
        keras.distribution.set_distribution(
            keras.distribution.DataParallel(auto_shard_dataset=False)
        )


def fit(model: Seq2Seq, data, epochs: int) -> tuple[list, list]:
    """Train by `fit`; return the losses and the seconds of all epochs."""
    times = []

    def look(*_):
        times.append(time.perf_counter())

    clock = keras.callbacks.LambdaCallback(
        on_train_begin=look, on_epoch_end=look
    )
    options = {"callbacks": [clock], "shuffle": False, "verbose": 0}
    history = model.fit(data, epochs=epochs, **options)
    return history.history["loss"], np.diff(times).tolist()


def loop(strategy, model: Seq2Seq, data, epochs: int) -> tuple[list, list]:
    """Train by `strategy.run`: the `fit` of Keras 3 fails with two workers.

    The gradients of all replicas are summed by `apply_gradients`, and so are
    their shares of the loss.
    """
    loss = SequenceCrossentropy()

    def replica(data):
        inputs, labels = data
        with tf.GradientTape() as tape:
            share = loss(labels, model(inputs, training=True))
            share += sum(model.losses) / strategy.num_replicas_in_sync
        weights = model.trainable_variables
        found = tape.gradient(share, weights)
        model.optimizer.apply_gradients(zip(found, weights, strict=True))
        return share

    @tf.function(autograph=False, reduce_retracing=True)
    def step(data):
        return strategy.reduce("SUM", strategy.run(replica, (data,)), None)

    with strategy.scope():
        model.optimizer.build(model.trainable_variables)
    data = strategy.distribute_datasets_from_function(lambda _: data)
    losses, seconds = [], []
    for _ in range(epochs):
        began = time.perf_counter()
        losses.append(float(np.mean([step(batch) for batch in data])))
        seconds.append(time.perf_counter() - began)
    return losses, seconds


def work(mode: str, data: str, epochs: int, shard, address=None) -> dict:
    """Train in this process; return losses and pairs a second."""
    strategy = prepare(mode, shard, address)
    batches = read(Path(data), shard)
    with strategy.scope() if strategy else contextlib.nullcontext():
        model = make_model()
    if mode == "multi_worker":
        losses, seconds = loop(strategy, model, batches, epochs)
    else:
        losses, seconds = fit(model, batches, epochs)
    later = seconds[1:] or seconds  # the first epoch compiles
    pairs = len(later) * len(batches) * BATCH_SIZE
    return {"losses": losses, "pairs_per_second": pairs / sum(later)}


def environment(backend: str, mode: str, n: int, addresses: list) -> dict:
    """Return what process `n` must find in its environment."""
    found = {**os.environ, "KERAS_BACKEND": backend}
    if mode in ("data_parallel", "model_parallel"):
        flag = "--xla_force_host_platform_device_count=2"  # of processors
        found["XLA_FLAGS"] = f"{found.get('XLA_FLAGS', '')} {flag}"
    if mode == "multi_worker":
        task = {"type": "worker", "index": n}
        found["TF_CONFIG"] = json.dumps(
            {"cluster": {"worker": addresses}, "task": task}
        )
    return found


def start(backend: str, mode: str, folder: str, epochs: int) -> dict:
    """Run the processes of one mode, and read what the first one prints."""
    count = 2 if mode in IN_TWO_PROCESSES else 1
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    running = []
    for n in range(count):
        words = f"--mode {mode} --process {n} --processes {count}".split()
        words += f"--address {addresses[0]} --epochs {epochs}".split()
        command = [sys.executable, __file__, *words, "--data", folder]
        env = environment(backend, mode, n, addresses)
        with open(Path(folder) / f"{mode}_{n}", "w") as out:
            one = subprocess.Popen(command, env=env, stdout=out, stderr=out)
        running.append(one)
    codes = [None]
    while None in codes and not any(codes):
        time.sleep(0.1)
        codes = [process.poll() for process in running]
    for process in running:
        process.kill()  # those left would wait for the broken one for ever
    said = [(Path(folder) / f"{mode}_{n}").read_text() for n in range(count)]
    for code, words in zip(codes, said, strict=True):
        if code:
            raise RuntimeError(f"{mode} failed:\n{words[-3000:]}")
    return json.loads(said[0].strip().splitlines()[-1])


def free_ports(count: int) -> list[int]:
    """Find ports of this machine that nobody uses."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def main(quick: bool = False, mode: str = "mirrored") -> dict:
    """Train with one device and in a mode; print losses and throughput.

    Args:
        quick: Whether to take an eighth of the pairs, and half the epochs.
        mode: One of `mirrored`, `data_parallel`, `model_parallel`,
            `two_processes` and `multi_worker`.

    Returns:
        The losses of all epochs and the pairs a second, of one device and of
        the mode.
    """
    epochs = EPOCHS // 2 if quick else EPOCHS
    backend = "jax" if mode in ON_JAX else "tensorflow"
    one = "one_replica" if mode == "mirrored" else "one"
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(Path(folder), PAIRS // 8 if quick else PAIRS)
        found = {
            name: start(backend, name, folder, epochs) for name in (one, mode)
        }
    losses = [found[name]["losses"] for name in found]
    print(f"epoch  one device  {mode:>14}")
    for n, (x, y) in enumerate(zip(*losses, strict=True), 1):
        print(f"{n:5}  {x:10.6f}  {y:14.6f}")
    for name in found:
        print(f"{name}: {found[name]['pairs_per_second']:.0f} pairs per second")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--mode", default="mirrored", choices=MODES)
    parser.add_argument(
        "--data", metavar="DIR", help="folder with the training files"
    )
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument(
        "--process", type=int, help="number of this process, from 0"
    )
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--address", help="address of process 0, HOST:PORT")
    given = parser.parse_args()
    if given.process is None:
        main(given.quick, given.mode)
    else:
        shard = given.process, given.processes
        options = given.epochs, shard, given.address
        print(json.dumps(work(given.mode, given.data, *options)))
