"""`fit` that goes on where it was killed, bit by bit the same."""

import inspect
import math
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
# leaves nothing in its folder, so nothing else tells that there was one.
_used = set()


def resumable_fit(
    model: keras.Model,
    folder: str | Path,
    *arguments: Any,
    save_freq: str | int = "epoch",
    **options: Any,
) -> keras.callbacks.History:
    """Calls `model.fit`, and goes on with it after a kill as if without one.

    Run the command again that was interrupted. Training goes on at the epoch
    and the batch of the last state that was written, and everything is bit by
    bit what it would have been: weights, optimizer, metrics, history, the
    generators of layers, Python, NumPy and torch, the order of
    `parallel_dataset`, and what callbacks remember. Only the work since that
    state is done again. (`keras.callbacks.BackupAndRestore` goes on with
    another run.) After the last epoch nothing is left in the folder.

    A state is written whole or not at all, so a kill while it is written
    leaves the one before. What it takes is the time to write weights and
    optimizer once; between states it costs nothing.

    - **The same training.** To resume with another model, optimizer, loss,
      metric or argument of `fit`, or with fewer epochs than were trained, is
      an error, and the state is kept. More epochs are possible. Models,
      optimizers, losses and metrics are compared by their configs, functions
      by their names, arrays and the text of `parallel_dataset` by their
      content, other datasets by their class, shapes and number of batches.
      What no config has, such as the code of a loss function, is not
      compared. Callbacks are not compared either.
    - **Callbacks.** They hear of one training: of its begin once in a
      process, of its end once. Attributes that are numbers, strings, arrays,
      paths, generators of Keras, or lists, tuples, sets and dictionaries of
      values are saved. Anything else a callback creates anew when training
      begins; if it has changed meanwhile, a warning names it. Files that a
      callback writes stay as they are: pass `append=True` to `CSVLogger`, and
      `save_freq="epoch"` to have each row once. A callback hears again of the
      begin of an epoch that is resumed.
    - **Data.** A run that goes on within an epoch reads its earlier batches
      again and drops them, which takes the time that reading takes.
      `parallel_dataset` goes on at its epoch, with or without a `seed`. Other
      data must give an epoch the same batches in a new process. Arrays that
      `fit` shuffles do so, on TensorFlow after
      `keras.utils.set_random_seed`; `tf.data`'s own `shuffle` does so with a
      `seed` and `reshuffle_each_iteration=False`.
    - **What cannot be kept.** Keras' own generator, from which `keras.random`
      draws without a `seed`: Keras drops it with each new seed, and has no
      name for it. Its layers have others, which are kept with the model. In
      layers and callbacks of your own, draw with an attribute that is a
      `keras.random.SeedGenerator`.
    - **The first state.** It is written when training begins. If the model
      has no weights by then, as on TensorFlow before `build`, a kill before
      the second state begins with new random ones: call
      `keras.utils.set_random_seed` or `build` first.
    - **Devices.** Several devices of one process are one training. Several
      processes of JAX are refused: a kill could leave them states of
      different steps.

    Args:
        model: A compiled model.
        folder: The folder of the state. Each call in a program requires a
            folder of its own, because nothing else tells equal calls apart; a
            second call with the folder of an earlier one is an error.
        save_freq: `"epoch"` to write after each epoch, or the number of
            batches from one state to the next. Defaults to `"epoch"`.
        *arguments: Those of `model.fit`.
        **options: Those of `model.fit`, by name.

    Returns:
        The `History` of all epochs, those before an interruption included.

    Raises:
        ValueError: If an argument has a wrong value, JAX runs in several
            processes, or the state is damaged or that of another training. The
            message says how they differ, and names the file.
        OSError: If a state cannot be written. It names the file.

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


def _check(folder, save_freq):
    """Return the path of the state, or raise a `ValueError`."""
    path = Path(folder or "") if isinstance(folder, str | Path) else None
    if not folder or path is None or (path.exists() and not path.is_dir()):
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
    count = backend.count_processes()
    if count > 1:
        raise ValueError(
            "resumable_fit needs a training in one process. Received: "
            f"jax.process_count()={count}. Save weights in process 0, by "
            "`keras.callbacks.ModelCheckpoint`, and begin all of them with "
            "these weights and with `fit(initial_epoch=...)`."
        )
    file = path.resolve() / FILE
    if file in _used:
        raise ValueError(
            "resumable_fit needs a folder of its own for each call in a "
            f"program. Received: folder={str(folder)!r}, which an earlier call "
            "has had: if one is killed, nothing says which of them. Give each "
            "call another folder."
        )
    return file


def _find_state(file, identity, epochs):
    """Return the state to go on from, if there is one, or raise an error."""
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
        refuse(file, f"it says epoch={state.epoch!r}, batch={state.batch!r}")
    if other and not state.begun:  # it binds nobody
        return None
    if other:
        refuse(file, f"its {' and '.join(other)} differ")
    trained = f"{state.epoch} and {state.batch} batches"
    if epochs < state.epoch + (state.batch > 0):
        refuse(file, f"epochs={epochs} are fewer than were trained, {trained}")
    return state


def _prepare(model, state, given, call):
    """Let a model make the variables that it needs before its first step.

    What the step changes that it does is put back from the state.
    """
    shuffled = state.begun and call["shuffle"] and _rows(call["x"])
    if shuffled and not backend.has_seed():
        warnings.warn(
            "resumable_fit cannot have the order of these arrays again, which "
            "Keras shuffles without a seed on TensorFlow. Call "
            "keras.utils.set_random_seed first, or give shuffle=False.",
            stacklevel=3,
        )
    values = state.variables
    made = values is None or len(model.variables) == len(values["model"])
    if state.batch or made:
        return
    if inspect.isgenerator(call["x"]):
        raise ValueError(
            "resumable_fit needs a model that has weights to go on with a "
            "generator. Received: one that is not built. Call `build` first."
        )
    # Without shuffling, since what it draws from is put back only in part.

    def stop(*_, **__):
        model.stop_training = True

    one = keras.callbacks.LambdaCallback(on_train_batch_end=stop)
    rest = {"shuffle": False, "validation_freq": [], "verbose": 0}
    model.fit(**{**given, **rest, "callbacks": [one]})


def _rows(x):
    """Return the number of rows of arrays, or `None` of other data."""
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
