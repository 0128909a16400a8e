"""A `fit` that resumes an interrupted training with identical results."""

import inspect
import math
import shutil
import warnings
from pathlib import Path
from typing import Any

import keras

from keras_attention.backend import backend
from keras_attention.checks import check_integer
from keras_attention.checks import described
from keras_attention.resume.callbacks import OwnedCallbacks
from keras_attention.resume.callbacks import State
from keras_attention.resume.file import read_state
from keras_attention.resume.file import reading_state
from keras_attention.resume.file import refuse
from keras_attention.resume.identity import cardinality
from keras_attention.resume.identity import identify

FILE = "training.state"
# Files of trainings of this program, but of those that failed. A training
# leaves nothing in its folder, so nothing else tells that there was one; if its
# result is saved elsewhere, `remove_training` lets the folder be used again.
_used = set()


def resumable_fit(
    model: keras.Model,
    folder: str | Path,
    *arguments: Any,
    save_freq: str | int = "epoch",
    **options: Any,
) -> keras.callbacks.History:
    """Call `model.fit`, and resume it exactly after an interruption.

    To resume, run the interrupted command again. Training continues at the
    epoch and the batch of the last saved state, and repeats only the work that
    was done after this state. All results are bit by bit identical to those of
    an uninterrupted training: weights, optimizer, metrics, history, the order
    of `parallel_dataset`, the states of callbacks, and the random numbers of
    layers, Python, NumPy and torch. (`keras.callbacks.BackupAndRestore`
    continues with other random numbers.) After the last epoch, `folder`,
    which holds the state, is empty.

    A state is written completely or not at all: if the process is killed while
    it writes a state, the previous state remains. The time to save a state is
    the time to write the weights and the optimizer once. Batches between two
    states take no extra time.

    - **What must not change.** You cannot resume with another model, optimizer,
      loss, metric or argument of `fit`, or with fewer epochs than were
      trained: an error is raised, and the state is kept. You can add epochs.
      Models, optimizers, losses and metrics are compared by their configs,
      functions by their names, arrays and the text of `parallel_dataset` by
      their content, and other datasets by their class, shapes and number of
      batches. Callbacks are not compared, and neither is code that no config
      contains, such as the code of a loss function.
    - **Callbacks.** `on_train_begin` is called once in each process, and
      `on_train_end` once after the last epoch. Attributes of callbacks are
      saved if they are numbers, strings, arrays, paths,
      `keras.random.SeedGenerator` objects, or lists, tuples, sets and
      dictionaries of such values. Other attributes are not saved, so that a
      callback must create them when training begins. If such an attribute
      changes during training, a warning names it. Files that a callback writes
      are not restored to an earlier content: pass `append=True` to `CSVLogger`,
      and use `save_freq="epoch"` to get each row once. `on_epoch_begin` is
      called again for a resumed epoch.
    - **Data.** A training that resumes within an epoch reads the earlier
      batches of this epoch again and discards them, which takes the time of
      reading. `parallel_dataset` resumes at its epoch, with or without a
      `seed`. Other data must give the same batches for an epoch in a new
      process. If `fit` shuffles arrays on TensorFlow, call
      `keras.utils.set_random_seed` first, so that the order repeats; on other
      backends, the order always repeats.
      `shuffle` of `tf.data` requires a `seed` and
      `reshuffle_each_iteration=False`.
    - **Random numbers without a seed.** If you call a function of
      `keras.random` without a `seed`, it uses a global random generator. The
      state of this generator is not restored, because Keras gives no access to
      it, and replaces it whenever a new random seed is set. Keras layers have
      random generators of their own, which are saved with the model. In custom
      layers and callbacks, use an attribute that is a
      `keras.random.SeedGenerator`.
    - **The first state.** The first state is saved when training begins. On
      TensorFlow, a model that is not built has no weights at this time. If such
      a training is killed before it saves its second state, it starts again
      with new random weights. To prevent this, call `build` or
      `keras.utils.set_random_seed` before the training.
    - **Devices.** A training on several devices can be resumed if one process
      uses all of them. Several JAX processes are not supported, because after a
      kill their states could be from different steps.

    Args:
        model: A compiled model.
        folder: The folder for the state. If a program calls `resumable_fit`
            several times, each call requires a folder of its own, because only
            the folder distinguishes the calls. A second call with the folder of
            an earlier call is an error.
        save_freq: `"epoch"` to save after each epoch, or the number of
            batches between two states. Defaults to `"epoch"`.
        *arguments: Positional arguments of `model.fit`.
        **options: Keyword arguments of `model.fit`.

    Returns:
        The `History` of all epochs, including those before an interruption.

    Raises:
        ValueError: If an argument is invalid, JAX runs in several processes,
            or the state is damaged or belongs to another training. The message
            describes the differences, and names the file.
        OSError: If a state cannot be written. The message names the file.

    Example:

    ```python
    resumable_fit(
        model, "de_en_training", train, epochs=20, shuffle=False, save_freq=1000
    )
    ```
    """
    file = _check(folder, save_freq)
    if not getattr(model, "compiled", False):
        raise ValueError(
            "`model` must be a compiled model. Received: model="
            f"{described(model)}. Call model.compile first."
        )
    bound = inspect.signature(keras.Model.fit).bind(
        model, *arguments, **options
    )
    given = {k: v for k, v in bound.arguments.items() if v is not model}
    bound.apply_defaults()
    call = bound.arguments
    identity = identify(model, call)
    state = _find_state(file, identity, call["epochs"])
    if state is not None:
        _prepare(model, state, given, call)
        often, last = call["validation_freq"], call["epochs"]
        first = state.data_epoch
        if state.stopped or state.epoch >= last:
            first = max(state.epoch, last)  # there is nothing left to train
        given["initial_epoch"] = call["initial_epoch"] = first
        given["validation_freq"] = [  # not in epochs that are passed by
            n
            for n in range(state.epoch + 1, last + 1)
            if (n in often if isinstance(often, list) else n % often == 0)
        ]
    batches = _count_batches(call)
    given["callbacks"] = owned = OwnedCallbacks(
        model, call, file, save_freq, identity, state, batches
    )
    _used.add(file)
    try:
        return model.fit(**given)
    except BaseException:
        _used.discard(file)
        raise
    finally:
        owned.release()


def remove_training(folder: Path):
    """Remove the folder of a training whose result is saved elsewhere.

    Args:
        folder: The folder of `resumable_fit`. The program can use it again.
    """
    shutil.rmtree(folder)
    _used.discard(folder.resolve() / FILE)


def _check(folder, save_freq):
    """Return the path of the state file, or raise a `ValueError`."""
    path = Path(folder or "") if isinstance(folder, str | Path) else None
    if not folder or path is None or (path.exists() and not path.is_dir()):
        raise ValueError(
            "`folder` must name a folder. Received: "
            f"folder={folder!r}. Use a different folder for each training."
        )
    if isinstance(save_freq, str) and save_freq != "epoch":
        raise ValueError(
            '`save_freq` must be "epoch" or a number of batches. '
            f"Received: save_freq={save_freq!r}"
        )
    if save_freq != "epoch":
        check_integer("save_freq", save_freq)
    count = backend.count_processes()
    if count > 1:
        raise ValueError(
            "resumable_fit supports only one process. Received: "
            f"jax.process_count()={count}. Save weights in process 0 with "
            "`keras.callbacks.ModelCheckpoint`, and start all processes with "
            "these weights and `fit(initial_epoch=...)`."
        )
    file = path.resolve() / FILE
    if file in _used:
        raise ValueError(
            "resumable_fit needs a different `folder` for each call in a "
            f"program. Received: folder={str(folder)!r}, which an earlier call "
            "has used: after an interruption, the calls could not be "
            "distinguished. Pass another folder."
        )
    return file


def _find_state(file, identity, epochs):
    """Return the state to resume from, if there is one, or raise an error."""
    content = read_state(file)
    if content is None:
        return None
    with reading_state(file):  # it was sealed, but by whom?
        state = State(**content)
        other = [x for x in identity if identity[x] != state.identity.get(x)]
        counts = state.data_epoch, state.epoch, state.batch, state.read
        whole = all(type(x) is int and x >= 0 for x in counts)
        whole = whole and state.data_epoch <= state.epoch
    if not whole:
        refuse(file, f"it has epoch={state.epoch!r}, batch={state.batch!r}")
    if other and not state.begun:  # it binds nobody
        return None
    if other:
        refuse(file, f"its {' and '.join(other)} differ")
    trained = f"{state.epoch} and {state.batch} batches"
    if epochs < state.epoch + (state.batch > 0):
        refuse(file, f"epochs={epochs} are fewer than were trained, {trained}")
    return state


def _prepare(model, state, given, call):
    """Make a model create the variables that it needs before its first step.

    The changes of this step are undone by the state.
    """
    shuffled = state.begun and call["shuffle"] and _rows(call["x"])
    if shuffled and not backend.has_seed():
        warnings.warn(
            "resumable_fit cannot restore the order of these arrays, which "
            "Keras shuffles without a seed on TensorFlow. Call "
            "keras.utils.set_random_seed first, or pass shuffle=False.",
            stacklevel=3,
        )
    values = state.variables
    made = values is None or len(model.variables) == len(values["model"])
    if state.batch or made:
        return
    if inspect.isgenerator(call["x"]):
        raise ValueError(
            "resumable_fit needs a built model to resume a training whose "
            "data is a Python generator. Received: a model that is not built. "
            "Call `build` first."
        )
    # Without shuffling, since what it draws from is put back only in part.

    def stop(*_, **__):
        model.stop_training = True

    one = keras.callbacks.LambdaCallback(on_train_batch_end=stop)
    rest = {"shuffle": False, "validation_freq": [], "verbose": 0}
    model.fit(**{**given, **rest, "callbacks": [one]})


def _rows(x):
    """Return the number of rows of arrays, or `None` for other data."""
    leaves = keras.tree.flatten(x)
    arrays = leaves and all(hasattr(leaf, "shape") for leaf in leaves)
    return leaves[0].shape[0] if arrays else None


def _count_batches(call):
    """Return the number of batches of the data, or `None` if unknown."""
    rows, steps = _rows(call["x"]), call["steps_per_epoch"]
    if rows is None:
        return cardinality(call["x"])
    if call["validation_data"] is None:
        rows = math.floor(rows * (1 - call["validation_split"]))
    size = call["batch_size"] or (math.ceil(rows / steps) if steps else 32)
    return math.ceil(rows / size)
