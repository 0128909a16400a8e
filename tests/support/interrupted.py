"""A small training that can be interrupted anywhere, and started again."""

import functools
import os
import signal
from pathlib import Path

import h5py
import keras
import numpy as np
from keras import layers
from keras import ops
from ready import EAGER
from ready import GRAPH

import keras_attention as ka
from keras_attention.data import read_positions as read_positions
from keras_attention.resume import file as state_file

WORDS = 9
EPOCHS = 4


class Interruption(Exception):
    """What stops a training, in place of a kill."""


def stop():
    """Stop as an error would."""
    raise Interruption


def die():
    """Stop as a kill does: nothing is closed, written or caught."""
    os.kill(os.getpid(), signal.SIGKILL)


class Interrupt(keras.callbacks.Callback):
    """Stops at one moment of a training.

    Args:
        moment: Such as `"on_epoch_end"`, or `"writing"` a state.
        epoch: The epoch in which it stops.
        batch: The batch at which it stops, where there is one.
        how: What is called then.
    """

    def __init__(self, moment, epoch, batch=None, how=stop):
        super().__init__()
        self.now = -1
        self.wanted = moment, epoch, batch
        self.how = how
        self.written = state_file.seal
        if moment == "writing":
            state_file.seal = self.interrupt_writing
        elif moment != "on_epoch_begin":
            setattr(self, moment, functools.partial(self.hear, moment))

    def hear(self, moment, batch=None, logs=None):
        batch = None if self.wanted[2] is None else batch
        if (moment, self.now, batch) == self.wanted:
            self.how()

    def interrupt_writing(self, file):
        """Stop when a state is half there."""
        half = file.stat().st_size // 2
        if self.now == self.wanted[1]:
            os.truncate(file, half)
            self.how()
        self.written(file)

    def on_epoch_begin(self, epoch, logs=None):
        self.now = epoch
        self.hear("on_epoch_begin")


class Draw(keras.callbacks.Callback):
    """Logs numbers of NumPy's generator, and of one of its own."""

    def __init__(self):
        super().__init__()
        self.sum = 0.0
        self.seed = keras.random.SeedGenerator(3)

    def on_train_batch_begin(self, batch, logs=None):
        self.sum += np.random.rand()

    def on_train_batch_end(self, batch, logs=None):
        self.sum += float(keras.random.uniform((), seed=self.seed))

    def on_epoch_end(self, epoch, logs=None):
        logs["drawn"] = self.sum


class Tiny(keras.Model):
    """A model that draws in every step, and has no weights before it."""

    def __init__(self, units):
        super().__init__()
        self.embed = layers.Embedding(WORDS, units, mask_zero=True)
        self.drop = layers.Dropout(0.3)
        self.project = layers.Dense(WORDS)
        self.sampling_probability = self.add_weight(
            name="sampling_probability", initializer="zeros", trainable=False
        )

    def call(self, inputs, training=None):
        source, target = map(self.embed, inputs)
        mean = ops.mean(source, axis=1, keepdims=True)
        mean = mean * self.sampling_probability
        return self.project(self.drop(target + mean, training=training))


def make_tiny(units=4, compiled=EAGER):
    model = Tiny(units)
    adam = keras.optimizers.Adam(0.05)
    loss = ka.SequenceCrossentropy()
    model.compile(adam, loss, metrics=[ka.TokenAccuracy()], **compiled)
    return model


def make_compiled():
    return make_tiny(compiled=GRAPH)


def make_larger():
    return make_tiny(5)


def write_text(folder: Path):
    """Write two parallel files, of 26 pairs of digits."""
    draw = np.random.default_rng(5).integers
    lines = ["".join(map(str, draw(0, 5, draw(2, 7)))) for _ in range(26)]
    (folder / "source.txt").write_text("\n".join(lines) + "\n")
    turned = [line[::-1] for line in lines]
    (folder / "target.txt").write_text("\n".join(turned) + "\n")


def train(
    folder: Path,
    interrupt=None,
    save_freq="epoch",
    make=None,
    rate=0.05,
    patience=9,
    seed=7,
    repeat=False,
    fit=None,
):
    """Run the whole command: read, build, train; return all that is left.

    Args:
        folder: Where the text is, and where everything is written.
        interrupt: An `Interrupt`, or another callback.
        save_freq: Of `resumable_fit`.
        make: Makes the model. Defaults to `make_tiny`.
        rate: The learning rate.
        patience: Of `EarlyStopping`.
        seed: Of the dataset.
        repeat: Whether epochs are parts of one long row of batches.
        fit: Other arguments of `fit`.
    """
    keras.utils.set_random_seed(1)
    digits = ka.CharacterTokenizer("01234")
    files = folder / "source.txt", folder / "target.txt"
    options = {"training": True, "seed": seed, "buckets": 2}
    data = ka.parallel_dataset(*files, digits, digits, 6, **options)
    arguments = {"epochs": EPOCHS, "shuffle": False, "verbose": 0}
    arguments["validation_data"] = data.take(2)
    if repeat:
        data, arguments["steps_per_epoch"] = data.repeat(), 3
        arguments["validation_data"] = ka.parallel_dataset(
            *files, digits, digits, 9
        )
    model = (make or make_tiny)()
    model.optimizer.learning_rate = rate
    callbacks = make_callbacks(folder, patience)
    if interrupt is not None:
        callbacks.insert(1, interrupt)
    arguments = {**arguments, **(fit or {}), "callbacks": callbacks}
    fitted = ka.resumable_fit(
        model, folder / "state", data, save_freq=save_freq, **arguments
    )
    return results(model, fitted, folder)


def make_callbacks(folder, patience):
    """One of each kind that remembers something."""
    kinds = keras.callbacks
    return [
        kinds.EarlyStopping(
            "loss", min_delta=0.2, patience=patience, restore_best_weights=True
        ),
        kinds.ReduceLROnPlateau("loss", patience=1, min_delta=0.2),
        kinds.ModelCheckpoint(
            folder / "best.weights.h5",
            "loss",
            save_best_only=True,
            save_weights_only=True,
        ),
        ka.ScheduledSampling(ka.InverseSigmoidSchedule(2)),
        Draw(),
    ]


def results(model, fitted, folder):
    """Everything that a training leaves, as plain values and arrays."""
    groups = {"model": model.variables, "optimizer": model.optimizer.variables}
    with h5py.File(folder / "best.weights.h5") as file:
        best = {}
        file.visititems(
            lambda name, x: best.update(
                {f"best {name}": x[()]} if isinstance(x, h5py.Dataset) else {}
            )
        )
    return {
        **best,
        **{
            f"{group} {i}": keras.ops.convert_to_numpy(v)
            for group, found in groups.items()
            for i, v in enumerate(found)
        },
        **{f"history {k}": v for k, v in fitted.history.items()},
        "epochs": fitted.epoch,
        "files": sorted(x.name for x in folder.iterdir()),
        "drawn": np.random.rand(),
    }


def run(folder: Path, interrupt: tuple | None, save_freq):
    """Train in a process of its own, which may be killed, and keep results."""
    if interrupt is not None:
        interrupt = Interrupt(*interrupt, how=die)
    found = train(folder, interrupt, save_freq)
    state_file.write_state(folder / "results", found)


def differences(one, other):
    """The names of results that are not equal to the last bit."""
    names = one.keys() & other.keys()
    found = [*(one.keys() ^ other.keys())]
    return found + [x for x in names if not np.array_equal(one[x], other[x])]
