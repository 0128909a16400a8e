"""Training that survives interruptions, bit by bit the same."""

import sys
from pathlib import Path

import keras

from keras_attention.checks import check_integer
from keras_attention.ops.fast_paths import fast_path
from keras_attention.training.fit_call import find_fit_call
from keras_attention.training.training_run import TrainingRun

FILE = "training.state"


class ResumeTraining(keras.callbacks.Callback):
    """Goes on with a training that was killed, as if it had not been.

    Run the command again that was interrupted, with the same arguments. `fit`
    starts at the epoch and the batch of the last state that was written, and
    everything is bit by bit what it would have been: weights, optimizer,
    metrics, history, random generators, the order of `parallel_dataset`, and
    what the other callbacks remember. Only the work since that state is done
    again. (`keras.callbacks.BackupAndRestore` goes on with another run.)

    A state is written whole or not at all, so a kill while it is written
    leaves the one before. What it takes is the time to write weights and
    optimizer once; between states it costs nothing.

    - **Callbacks.** Attributes that are numbers, strings, arrays, paths, or
      lists, tuples, sets and dictionaries of them are kept, and so is what
      stands in the files that a callback holds open, as `CSVLogger` does.
      Anything else a callback makes anew when training begins; if it has
      changed it meanwhile, a warning names it. A callback hears again of the
      begin of training and of the begin of its epoch.
    - **Data.** A run that goes on within an epoch reads the epoch's earlier
      batches again and drops them, which takes the time that reading takes.
      `parallel_dataset` goes on at its epoch, with or without a `seed`. Other
      data must give an epoch the same batches in a new process. The
      generators of Python, NumPy, Keras and torch are kept, so arrays that
      `fit` shuffles on JAX and torch do. On TensorFlow they do after
      `keras.utils.set_random_seed`; without it a warning says that they do
      not. `tf.data`'s own `shuffle` does with a `seed` and
      `reshuffle_each_iteration=False`.
    - **The first state.** It is written when training begins. If the model
      has no weights by then, as on TensorFlow before `build`, a kill before
      the second state begins with new random ones: call
      `keras.utils.set_random_seed` or `build` first.
    - **Devices.** Several devices of one process are one training. Several
      processes of JAX are refused: a kill could leave them states of
      different steps.

    Args:
        folder: The folder of the state, one for each training.
        save_freq: `"epoch"` to write after each epoch, or the number of
            batches from one state to the next. Defaults to `"epoch"`.
        delete_checkpoint: Whether to leave nothing behind after the last
            epoch. If not, the same command trains no more, and one with more
            `epochs` goes on. Defaults to `True`.

    Raises:
        ValueError: If an argument has a wrong value; in `fit`, if JAX runs in
            several processes, or if the state is damaged, or of another model,
            optimizer, loss, data or other callbacks. The message names the
            file.

    Example:

    ```python
    resume = ResumeTraining("de_en_training", save_freq=1000)
    model.fit(train, epochs=20, shuffle=False, callbacks=[resume])
    ```
    """

    def __init__(
        self,
        folder: str | Path,
        save_freq: str | int = "epoch",
        delete_checkpoint: bool = True,
    ):
        super().__init__()
        if not isinstance(folder, str | Path) or not str(folder):
            raise ValueError(
                "`folder` must name a folder. Received: "
                f"folder={folder!r}. Give each training one of its own."
            )
        if isinstance(save_freq, str) and save_freq != "epoch":
            raise ValueError(
                '`save_freq` must be "epoch" or a number of batches. '
                f"Received: save_freq={save_freq!r}"
            )
        if save_freq != "epoch":
            check_integer("save_freq", save_freq)
        self.folder = folder
        self.save_freq = save_freq
        self.delete_checkpoint = delete_checkpoint
        self._file = Path(folder) / FILE
        self._run = None

    def on_train_begin(self, logs=None):
        _check_alone()
        call = find_fit_call()
        siblings = call.siblings.callbacks
        if any(type(x) is ResumeTraining and x is not self for x in siblings):
            raise ValueError(
                "`fit` takes one ResumeTraining. Received: two in `callbacks`."
            )
        # Of a `fit` that failed, with the same list.
        siblings[:] = [x for x in siblings if type(x) is not _AfterAll]
        options = self.save_freq, self.delete_checkpoint
        self._run = TrainingRun(self, call, self._file, *options)
        siblings.append(_AfterAll(self._run))  # `fit` comes to it at the end

    def on_epoch_begin(self, epoch, logs=None):
        self._run.begin_epoch(epoch)

    def on_train_batch_begin(self, batch, logs=None):
        self._run.begin_step()


def _check_alone():
    """Raise a `ValueError` in one of several processes of JAX."""
    if fast_path("NAME") != "jax":
        return
    count = sys.modules["jax"].process_count()
    if count > 1:
        raise ValueError(
            "ResumeTraining needs a training in one process. Received: "
            f"jax.process_count()={count}. Save weights in process 0, by "
            "`keras.callbacks.ModelCheckpoint`, and begin all of them with "
            "these weights and with `fit(initial_epoch=...)`."
        )


class _AfterAll(keras.callbacks.Callback):
    """Runs each hook after those of all other callbacks."""

    def __init__(self, run: TrainingRun):
        super().__init__()
        self.run = run

    def on_train_begin(self, logs=None):
        self.run.begin()

    def on_epoch_begin(self, epoch, logs=None):
        self.run.epoch_begun()

    def on_epoch_end(self, epoch, logs=None):
        self.run.end_epoch(epoch)

    def on_train_end(self, logs=None):
        self.run.end()
