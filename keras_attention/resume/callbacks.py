"""The callback list that saves and resumes a training."""

import itertools
import math
from pathlib import Path
from typing import Any
from typing import NamedTuple

import keras

from keras_attention.data import read_positions
from keras_attention.data import set_positions
from keras_attention.resume import states
from keras_attention.resume.file import reading_state
from keras_attention.resume.file import refuse
from keras_attention.resume.file import remove_state
from keras_attention.resume.file import write_state


class State(NamedTuple):
    """A point in a training: the beginning of an epoch, or of a step in it.

    Attributes:
        begun: Whether any step was trained.
        epoch: The current epoch.
        batch: The number of its batches that were trained.
        data_epoch: The epoch in which the current pass over the data began.
            It can be an earlier one with `steps_per_epoch`.
        read: The number of batches of this pass that earlier epochs read.
        source: The positions of datasets and random generators when the pass
            began.
        positions: The current positions of datasets.
        random: The states of random generators.
        variables: The variables of model, optimizer and metrics, or `None`.
        callbacks: The result of `KeptCallbacks.read`.
        stopped: Whether a callback has stopped the training.
        identity: The result of `identify`.
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
    identity: dict[str, str]


class OwnedCallbacks(keras.callbacks.CallbackList):
    """Calls callbacks as if a training had not been interrupted.

    Keras uses a `CallbackList` that it is given. This one saves a state
    before the callbacks of a batch begin, or after all callbacks of an epoch
    end. To resume from a state, `fit` starts where the pass over the data
    began. Steps that were trained before are skipped: their batches are read,
    but no callbacks are called. At the position of the state, everything is
    restored.

    Only `model.train_function` can discard a batch that `fit` reads.
    Therefore, it is replaced while steps are skipped.

    Args:
        model: The model.
        call: All arguments of `fit` by name, with the epoch to begin with.
        file: The state file.
        save_freq: `"epoch"`, or a number of batches.
        identity: The result of `identify`.
        state: The state to resume from, or `None`.
        batches: The number of batches of the data, or `None` if unknown.
    """

    def __init__(
        self,
        model: keras.Model,
        call: dict[str, Any],
        file: Path,
        save_freq: str | int,
        identity: dict[str, str],
        state: State | None,
        batches: int | None,
    ):
        self.steps, verbose = call["steps_per_epoch"], call["verbose"]
        super().__init__(
            getattr(call["callbacks"], "callbacks", call["callbacks"]),
            add_history=True,
            add_progbar=verbose != 0,
            model=model,
            verbose=verbose,
            epochs=call["epochs"],
            steps=self.steps or batches,
        )
        self.file, self.identity = file, identity
        self.state, self.batches = state, batches
        self.often = math.inf if save_freq == "epoch" else save_freq
        self.epoch = self.data_epoch = call["initial_epoch"]
        self.read = 0  # batches of this data, in epochs before
        self.batch = 0  # the batches of this epoch that were trained
        self.unsaved = 0  # batches since the last state
        self.source = {}

    def on_train_begin(self, logs=None):
        state, progress = self.state, keras.callbacks.ProgbarLogger
        super().on_train_begin(logs)
        self.kept = states.KeptCallbacks(
            [x for x in self.callbacks if not isinstance(x, progress)]
        )
        if state is None:
            self.write(self.epoch, 0, begun=False)
            return
        if (self.epoch, 0) >= (state.epoch, state.batch):
            self._arrive()
            return
        self.model.train_function = _PassedStep(self.model)

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch, self.batch = epoch, 0
        state = self.state
        if state is not None and epoch == state.epoch:
            if state.batch == 0:
                self._arrive()
            else:
                self.kept.put_back(state.callbacks)
        if state is None or epoch == state.epoch:
            super().on_epoch_begin(epoch, logs)
        if self.state is not None and epoch == state.data_epoch:
            self._put_back(state.source["positions"], state.source["begun"])
        elif self.state is None and epoch == self.data_epoch:
            begun = states.random_states()
            self.source = {"positions": read_positions(), "begun": begun}

    def on_train_batch_begin(self, batch, logs=None):
        state, now = self.state, (self.epoch, batch)
        if state is not None and now < (state.epoch, state.batch):
            if now == (state.data_epoch, 0):
                states.set_random_states(state.source["read"])
            return
        if state is not None:
            self._arrive()
        elif self.unsaved >= self.often:
            self.write(self.epoch, batch)
        super().on_train_batch_begin(batch, logs)
        if "read" not in self.source:  # torch reads before, others after this
            self.source["read"] = states.random_states()

    def on_train_batch_end(self, batch, logs=None):
        if self.state is None:
            self.unsaved += batch + 1 - self.batch
            self.batch = batch + 1
            super().on_train_batch_end(batch, logs)

    def on_epoch_end(self, epoch, logs=None):
        if self.state is not None:
            if epoch == self.state.epoch:
                refuse(self.file, "the data ends before the saved batch")
            return
        super().on_epoch_end(epoch, logs)
        self.read += self.batch
        whole = self.steps is not None and self.batch >= self.steps
        if not whole or (self.batches and self.read >= self.batches):
            self.data_epoch, self.read = epoch + 1, 0  # it is begun anew
        if self.often == math.inf or self.unsaved >= self.often:
            self.write(epoch + 1, 0)

    def on_train_end(self, logs=None):
        super().on_train_end(logs)
        remove_state(self.file)

    def release(self):
        """Restore the `train_function` of the model."""
        passed = self.model.train_function
        if isinstance(passed, _PassedStep):
            self.model.train_function = passed.train

    def write(self, epoch: int, batch: int, begun: bool = True):
        """Save the state before a batch of an epoch.

        Args:
            epoch: The current epoch.
            batch: The number of its batches that were trained.
            begun: Whether any step was trained.
        """
        state = State(
            begun=begun,
            epoch=epoch,
            batch=batch,
            data_epoch=self.data_epoch,
            read=self.read,
            source=self.source,
            positions=read_positions(),
            random=states.random_states(),
            variables=states.read_variables(self.model),
            callbacks=self.kept.read(),
            stopped=bool(self.model.stop_training),
            identity=self.identity,
        )
        write_state(self.file, state._asdict())
        self.unsaved = 0

    def _arrive(self):
        """Restore everything from the state when its position is reached."""
        state = self.state
        self.release()
        metrics = ["metrics"] if state.batch else []  # else they begin anew
        groups = ["model", "optimizer", *metrics]
        self._put_back(state.positions, state.random, groups)
        self.model.stop_training = state.stopped
        self.kept.put_back(state.callbacks)
        self.data_epoch, self.read = state.data_epoch, state.read
        self.source, self.batch = state.source, state.batch
        self.state = None

    def _put_back(self, positions, random, groups=()):
        with reading_state(self.file):  # it was sealed, but by whom?
            if self.state.variables is not None:
                states.set_variables(self.model, self.state.variables, groups)
            set_positions(positions)
            states.set_random_states(random)


class _PassedStep:
    """A `train_function` that reads the batches of a step and discards them.

    It still trains the first step, so that the model creates its variables;
    their values are restored later.

    Args:
        model: The model.
    """

    def __init__(self, model):
        self.train = model.train_function
        self.batches = model.steps_per_execution
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
        return ({}, *state) if state else {}
