"""As production runs it: one process, eight threads, everything at once.

A thorough run soaks for two minutes, `pytest tests/soak --thorough --minutes
10` for ten. Between rounds all threads rest, `keras.backend.clear_session()`
gives back the kernels that TensorFlow keeps of what was loaded and exported,
and memory is measured.
"""

import ctypes
import gc
import os
import random
import shutil
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops
from memory import give_back
from memory import kilobytes
from ready import GRAPH
from seq2seqs import sure_model

import keras_attention as ka

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, glibc"),
]

THREADS, ROUND, WARM = 8, 1.5, 4  # threads, seconds, rounds of warming up
ARENA_MAX = -8  # what `mallopt` calls the number of heaps
SENTENCES = [str(7 ** (2 * n))[:n] for n in range(1, 31, 3)]
MOST = 8  # sentences of a request
# Megabytes: what the process itself may grow in a minute, and what each model
# may leave that is loaded, used and dropped. Of plain Keras models it is 0.1.
SLOPE, EACH_RELOAD = 0.2, 0.2
SEARCHES = {
    "greedy": lambda: ka.GreedySearch(5),
    "short": lambda: ka.GreedySearch(3),
    "beam": lambda: ka.BeamSearch(3, 2, max_length=5, length_penalty=0.6),
    "sampling": lambda: ka.Sampling(seed=1, max_length=4),
    "other seed": lambda: ka.Sampling(0.7, seed=2, max_length=4),
}


def build():
    tokenizer = ka.CharacterTokenizer.train(SENTENCES, 20)
    model = sure_model(*[tokenizer.vocabulary_size] * 2)
    return ka.Translator(
        model, tokenizer, tokenizer, ka.BeamSearch(2, max_length=6)
    )


class Heap(ctypes.Structure):
    """What `mallinfo2` of glibc returns."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks"),
            *("fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


libc = ctypes.CDLL(None)
if hasattr(libc, "mallinfo2"):
    libc.mallinfo2.restype = Heap


class Work:
    """What the threads do for one round each, and what they should find."""

    def __init__(self, folder):
        self.folder, self.translator, self.other = folder, build(), build()
        self.model = self.translator.model
        self.ids = self.translator.source_tokenizer.tokenize(SENTENCES)
        self.texts = dict(
            zip(SENTENCES, self.translator(SENTENCES), strict=True)
        )
        self.found = {name: self.generate(name) for name in SEARCHES}
        self.translator.save(folder / "saved")
        pair = (self.ids, self.ids[:, :-1]), self.ids[:, 1:]
        self.pairs = tf.data.Dataset.from_tensors(pair)
        self.other.model.compile("sgd", ka.SequenceCrossentropy(), **GRAPH)
        jobs = [self.translate] * 4 + [self.search] * 2
        self.jobs = [*jobs, self.train, self.reload]
        self.seconds = ROUND
        for text in SENTENCES:  # oneDNN keeps a kernel for each shape
            for count in range(1, MOST + 1):
                self.translator([text] * count, batch_size=MOST)

    def generate(self, name):
        found = self.model.generate(self.ids, SEARCHES[name]())
        return [ops.convert_to_numpy(x) for x in found]

    def until_the_end(self, seed):
        end = time.monotonic() + self.seconds
        draw = random.Random(seed)
        while time.monotonic() < end:
            yield draw

    def translate(self, seed):
        for draw in self.until_the_end(seed):
            texts = draw.choices(SENTENCES, k=draw.randint(1, 2 * MOST))
            found = self.translator(texts, batch_size=MOST)
            assert found == [self.texts[x] for x in texts]

    def search(self, seed):
        for draw in self.until_the_end(seed):
            name = draw.choice([*SEARCHES])
            for x, y in zip(self.generate(name), self.found[name], strict=True):
                np.testing.assert_allclose(x, y, atol=1e-5)

    def train(self, seed):
        """Fit once, since each call of `fit` leaves a little in Keras."""
        model, batches = self.other.model, self.until_the_end(seed)
        stop = keras.callbacks.LambdaCallback(
            on_epoch_end=lambda *_: setattr(
                model, "stop_training", next(batches, None) is None
            )
        )
        model.fit(
            self.pairs, epochs=10**6, callbacks=[stop], verbose=0, shuffle=False
        )
        assert all(np.isfinite(w).all() for w in model.get_weights())

    def reload(self, seed):
        loaded = ka.Translator.load(self.folder / "saved")
        texts = random.Random(seed).choices(SENTENCES, k=8)
        assert loaded(texts) == [self.texts[x] for x in texts]
        if seed % 3 == 0:
            loaded.export(self.folder / "exported")
            shutil.rmtree(self.folder / "exported")


def at_rest():
    """Measure a process at rest.

    Returns:
        Megabytes that `malloc` has given out, since what it holds back for
        many threads rises and falls; megabytes of memory; threads; open files.
    """
    gc.collect()
    give_back()
    found = libc.mallinfo2()
    return (
        (found.hblkhd + found.uordblks) / 2**20,
        kilobytes() / 1024,
        threading.active_count(),
        len(os.listdir("/proc/self/fd")),
    )


@pytest.fixture
def traces(monkeypatch):
    seen, begin = [], ka.Seq2Seq.begin

    def counted(self, *arguments, **options):
        seen.append(self)
        return begin(self, *arguments, **options)

    monkeypatch.setattr(ka.Seq2Seq, "begin", counted)
    return seen


def test_days_of_work(tmp_path, traces, request, capsys):
    minutes = request.config.getoption("minutes", 2.0)  # or in a whole run
    libc.mallopt(ARENA_MAX, 2)  # what is free is for all threads
    work, times, rest = Work(tmp_path), [], []
    begin, traced = time.monotonic(), None
    with ThreadPoolExecutor(THREADS) as pool:
        while len(rest) < WARM + 3 or time.monotonic() - begin < 60 * minutes:
            seeds = [THREADS * len(rest) + k for k in range(THREADS)]
            ends = [pool.submit(*x) for x in zip(work.jobs, seeds, strict=True)]
            for end in ends:
                end.result()
            rest.append(at_rest())
            times.append((time.monotonic() - begin) / 60)
            if len(rest) == WARM:
                traced = traces.count(work.model)
    warm = max(WARM, len(rest) // 3)
    used, memory, threads, descriptors = np.array(rest[warm:]).T
    slope, _ = np.polyfit(times[warm:], used, 1)
    with capsys.disabled():
        print(f"\n{len(rest)} rounds, {slope:.2f} MB a minute", used, memory)
    assert traces.count(work.model) == traced
    assert set(threads) == {threads[0]}
    assert set(descriptors) == {descriptors[0]}
    assert os.listdir(tmp_path) == ["saved"]
    assert memory[-1] - memory[0] < 50
    reloads = 1 / np.diff(times).mean()  # a minute
    assert minutes < 2 or slope < SLOPE + EACH_RELOAD * reloads
