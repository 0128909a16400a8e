"""The list of callbacks by which a training is kept, and goes on."""

import itertools
from pathlib import Path
from typing import Any
from typing import NamedTuple

import keras

from keras_attention.data import read_positions
from keras_attention.data import set_positions
from keras_attention.resume.file import refuse
from keras_attention.resume.file import remove_state
from keras_attention.resume.file import write_state
from keras_attention.resume.kept import KeptCallbacks
from keras_attention.resume.variables import GROUPS
from keras_attention.resume.variables import has_variables
from keras_attention.resume.variables import random_states
from keras_attention.resume.variables import read_variables
from keras_attention.resume.variables import set_random_states
from keras_attention.resume.variables import set_variables


class State(NamedTuple):
    """A moment of a training: the begin of an epoch, or of a step in it.

    Attributes:
        begun: Whether anything was trained.
        epoch: The epoch that begins, or goes on.
        batch: The batches of it that were trained.
        data_epoch: The epoch that began the data which this one reads: an
            earlier one with `steps_per_epoch`.
        read: The batches of this data that epochs before have read.
        source: Where datasets and random generators were when it began.
        positions: Where datasets are.
        random: The states of random generators.
        variables: Those of model, optimizer and metrics, or `None`.
        callbacks: What `KeptCallbacks.read` returned.
        stopped: Whether a callback has stopped the training.
        logs: What the last step has returned.
        identity: What `identify` returned.
    """

    begun: bool
    epoch: int
    batch: int
    data_epoch: int
    read: int
    source: dict[str, Any]
    positions: list[dict]
    random: dict[str, Any]
    variables: dict[str, list] | None
    callbacks: list[dict]
    stopped: bool
    logs: dict[str, float]
    identity: dict[str, str]

    def first_epoch(self, epochs: int) -> int:
        """Return the epoch that `fit` begins with, of so many."""
        if self.stopped or self.epoch >= epochs:
            return max(self.epoch, epochs)  # there is nothing left to train
        return self.data_epoch


class OwnedCallbacks(keras.callbacks.CallbackList):
    """Lets callbacks hear of one training, whatever has interrupted it.

    Keras takes a `CallbackList` as it is. This one writes a state before
    anyone hears of a batch, or when all have heard of the end of an epoch. To
    go on from a state, `fit` begins where the data began. What was trained
    then is passed by: its batches are read, and nobody hears of them. When the
    moment of the state has come, all is put back.

    What `fit` reads only `model.train_function` can let it drop, so that is
    another one as long as steps are passed by.

    Args:
        callbacks: Those of the user.
        model: The model.
        file: The file of the state.
        save_freq: `"epoch"`, or a number of batches.
        identity: What `identify` returned.
        state: The state from which the training goes on, or `None`.
        batches: The number of batches of the data, or `None` if unknown.
        steps: `steps_per_epoch` of `fit`.
        first: `initial_epoch` of `fit`.
        epochs: Its number of epochs.
        verbose: Whether it shows progress, as in `fit`.
    """

    def __init__(
        self,
        callbacks: list[keras.callbacks.Callback],
        model: keras.Model,
        file: Path,
        save_freq: str | int,
        identity: dict[str, str],
        state: State | None,
        batches: int | None,
        steps: int | None,
        first: int,
        epochs: int,
        verbose: str | int,
    ):
        super().__init__(
            callbacks,
            add_history=True,
            add_progbar=verbose != 0,
            model=model,
            verbose=verbose,
            epochs=epochs,
            steps=steps or batches,
        )
        self.file, self.save_freq, self.identity = file, save_freq, identity
        self.state, self.batches, self.steps = state, batches, steps
        self.datasets = read_positions()
        self.epoch = self.data_epoch = first
        self.read = 0  # batches of this data, in epochs before
        self.batch = 0  # the batches of this epoch that were trained
        self.saved = 0  # those of them that the last state holds
        self.unsaved = 0  # batches of epochs before that no state holds
        self.source, self.logs = {}, {}
        self.train_function = None  # the model's, while another one is there

    def on_train_begin(self, logs=None):
        state = self.state
        if state is not None and state.variables is not None:
            if has_variables(self.model, state.variables):
                self._set_variables(state, GROUPS[:2])
        super().on_train_begin(logs)
        progress = keras.callbacks.ProgbarLogger
        self.kept = KeptCallbacks(
            [x for x in self.callbacks if not isinstance(x, progress)]
        )
        if state is None:
            self.write(self.epoch, 0, begun=False)
        elif (state.first_epoch(self.params["epochs"]), 0) >= state[1:3]:
            self._arrive()
        else:
            model, self.train_function = self.model, self.model.train_function
            model.train_function = _PassedStep(
                self.train_function, model.steps_per_execution, state.logs
            )

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch, self.batch, self.saved = epoch, 0, 0
        state = self.state
        if state is not None and epoch == state.epoch:
            if state.batch:
                self.kept.put_back(state.callbacks)
            else:
                self._arrive()
        if state is None or epoch == state.epoch:
            super().on_epoch_begin(epoch, logs)
        if self.state is not None and epoch == state.data_epoch:
            self._set_positions(state.source["positions"])
            set_random_states(state.source["begun"])
        elif self.state is None and epoch == self.data_epoch:
            positions = self._positions()
            self.source = {"positions": positions, "begun": random_states()}

    def on_train_batch_begin(self, batch, logs=None):
        state = self.state
        if state is not None:
            if (self.epoch, batch) < (state.epoch, state.batch):
                if (self.epoch, batch) == (state.data_epoch, 0):
                    set_random_states(state.source["read"])
                return
            self._arrive()
        elif self._is_due(batch):
            self.write(self.epoch, batch)
        super().on_train_batch_begin(batch, logs)
        if "read" not in self.source:  # torch reads before, others after this
            self.source["read"] = random_states()

    def on_train_batch_end(self, batch, logs=None):
        if self.state is None:
            self.batch, self.logs = batch + 1, logs
            super().on_train_batch_end(batch, logs)

    def on_epoch_end(self, epoch, logs=None):
        if self.state is not None:
            if epoch == self.state.epoch:
                refuse(self.file, "the data ends before the batch where it was")
            return
        super().on_epoch_end(epoch, logs)
        self.read += self.batch
        if not self._goes_on():
            self.data_epoch, self.read = epoch + 1, 0
        if self.save_freq == "epoch" or self._is_due(self.batch):
            self.write(epoch + 1, 0)
        else:
            self.unsaved += self.batch - self.saved

    def on_train_end(self, logs=None):
        super().on_train_end(logs)
        remove_state(self.file)

    def release(self):
        """Give the model its own `train_function` back."""
        if self.train_function is not None:
            self.model.train_function = self.train_function
            self.train_function = None

    def _is_due(self, batch):
        """Whether enough batches have passed since the last state."""
        unsaved = self.unsaved + batch - self.saved
        return self.save_freq != "epoch" and unsaved >= self.save_freq

    def _goes_on(self):
        """Whether the next epoch reads on where this one has ended."""
        whole = self.steps is not None and self.batch >= self.steps
        return whole and not (self.batches and self.read >= self.batches)

    def write(self, epoch: int, batch: int, begun: bool = True):
        """Write the state before a batch of an epoch.

        Args:
            epoch: The epoch that begins, or goes on.
            batch: The batches of it that were trained.
            begun: Whether anything was trained.
        """
        model = self.model
        state = State(
            begun=begun,
            epoch=epoch,
            batch=batch,
            data_epoch=self.data_epoch,
            read=self.read,
            source=self.source,
            positions=self._positions(),
            random=random_states(),
            variables=read_variables(model),
            callbacks=self.kept.read(),
            stopped=bool(model.stop_training),
            logs={k: float(v) for k, v in (self.logs or {}).items()},
            identity=self.identity,
        )
        write_state(self.file, state._asdict())
        self.saved, self.unsaved = batch, 0

    def _arrive(self):
        """Put back all that is in the state."""
        state, self.state = self.state, None
        self.release()
        if state.variables is not None:
            self._set_variables(state, GROUPS if state.batch else GROUPS[:2])
        self.model.stop_training = state.stopped
        self.kept.put_back(state.callbacks)
        self._set_positions(state.positions)
        set_random_states(state.random)
        self.data_epoch, self.read = state.data_epoch, state.read
        self.source, self.logs = state.source, state.logs
        self.saved = state.batch

    def _set_variables(self, state, groups):
        try:
            set_variables(self.model, state.variables, groups)
        except ValueError as error:
            refuse(self.file, error, error)

    def _positions(self):
        """Read where datasets are, and which of them are read here."""
        contents = {x["content"] for x in self.datasets}
        return [
            {**x, "used": x["content"] in contents and x not in self.datasets}
            for x in read_positions()
        ]

    def _set_positions(self, positions):
        try:
            set_positions(positions)
        except ValueError as error:
            refuse(self.file, error, error)


class _PassedStep:
    """A `train_function` that reads the batches of a step and drops them.

    The first step is trained all the same, so that the model makes its
    variables; their values are put back later.

    Args:
        train: The model's own `train_function`.
        batches: The number of batches of a step.
        logs: What each step returns.
    """

    def __init__(self, train, batches: int, logs: dict[str, float]):
        self.train, self.batches, self.logs = train, batches, logs
        self.is_first = True

    def __call__(self, *arguments):
        *state, source = arguments  # JAX has a state of variables
        if self.is_first:
            self.is_first = False
            results = self.train(*arguments)
            state = results[1:] if state else ()
        elif not isinstance(source, list):  # torch has read its batches
            if not [*itertools.islice(source, self.batches)]:
                raise StopIteration
        return (self.logs, *state) if state else self.logs
