"""Nothing of a model outlives it: build, train, generate, export, drop."""

import gc
import shutil
import tempfile
import weakref

import keras
import numpy as np
import pytest
from keras.optimizers import Adam
from ready import GRAPH
from seq2seqs import make_model
from tiers import some

import keras_attention as ka

IDS = np.random.default_rng(0).integers(4, 20, (2, 8))
TEXTS = ["abc", "bcd e", "da"]
TOKENIZER = ka.CharacterTokenizer.train(TEXTS, 20)
OBJECTS = 2000  # of those that Python counts; a graph has 20,000 and more
on_tensorflow = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="what it exports"
)


def make(optimizer="adam", **changes):
    model = make_model(words=20, attention_layer_size=5, **changes)
    model.compile(optimizer, ka.SequenceCrossentropy(), **GRAPH)
    return model


def fit(model, _=None):
    model.fit((IDS, IDS), IDS, verbose=0)


def generate(model, _=None):
    model.build(((None, None), (None, None)))
    model.generate(IDS, ka.BeamSearch(2, max_length=2))
    model.generate(IDS, ka.Sampling(seed=0, max_length=2))


def translator():
    model = make_model(words=TOKENIZER.vocabulary_size)
    model.build(((None, None), (None, None)))
    return ka.Translator(
        model, TOKENIZER, TOKENIZER, ka.BeamSearch(2, max_length=3)
    )


def export(name):
    def run(folder):
        translator().export(folder / name)

    return run


def resumable_fit(folder):
    own = tempfile.mkdtemp(dir=folder)  # for each call in a program
    ka.resumable_fit(make(), own, (IDS, IDS), IDS, verbose=0)


EVERY = {"global_clipnorm": 1.0, "loss_scale_factor": 8.0}
EVERY |= {"gradient_accumulation_steps": 2}
USES = {
    "fit": lambda _: fit(make()),
    "with every option": lambda _: fit(
        make(Adam(**EVERY), tie_embeddings="all")
    ),
    "with tied embeddings": lambda _: fit(make(tie_embeddings="all")),
    "with a norm": lambda _: fit(make(Adam(global_clipnorm=1.0))),
    "with a scale": lambda _: fit(make(Adam(loss_scale_factor=8.0))),
    "in steps": lambda _: fit(make(Adam(gradient_accumulation_steps=2))),
    "with averages": lambda _: fit(make(keras.optimizers.SGD(use_ema=True))),
    "with a frozen encoder": lambda _: fit(frozen(make())),
    "train_on_batch": lambda _: make().train_on_batch((IDS, IDS), IDS),
    "generate": lambda _: generate(make()),
    "Translator": lambda _: translator()(TEXTS),
    "resumable_fit": resumable_fit,
}
EXPORTS = {
    "a SavedModel": export("model"),
    "LiteRT": export("model.tflite"),
    "ONNX": export("model.onnx"),
}


def frozen(model):
    model.build(((None, None), (None, None)))
    model.encoder.trainable = False
    model.source_embedding.trainable = False
    return model


def count(kind=None):
    gc.collect()
    return sum(kind in (None, type(x).__name__) for x in gc.get_objects())


def left(use, folder):
    """Use two models, and count what is left of the second."""
    counts = []
    for _ in range(2):
        use(folder)
        shutil.rmtree(folder)
        folder.mkdir()
        counts.append(count())
    return counts[1] - counts[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", some(USES, 2))
def test_nothing_is_left(name, tmp_path):
    graphs = count("FuncGraph")  # that other tests have left
    assert left(USES[name], tmp_path) < OBJECTS
    assert count("FuncGraph") <= graphs


@on_tensorflow
@pytest.mark.slow
@pytest.mark.parametrize("name", some(EXPORTS, 1))
def test_nothing_is_left_of_an_export(name, tmp_path):
    assert left(EXPORTS[name], tmp_path) < OBJECTS


@pytest.mark.slow
def test_no_layer_outlives_its_model():
    kept = keras.optimizers.LossScaleOptimizer(Adam())  # TensorFlow's graph
    model = make(kept, tie_embeddings="all")
    fit(model)
    generate(model)
    seen = [weakref.ref(x) for x in (model, model.decoder, model.decoder.cell)]
    del model
    keras.backend.clear_session()
    gc.collect()
    assert [x() for x in seen] == [None] * len(seen)
