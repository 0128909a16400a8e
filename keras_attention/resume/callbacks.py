"""The list of callbacks by which a training is kept, and goes on."""

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
    identity: dict[str, str]


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
        model: The model.
        call: All arguments of `fit`, by name, with the epoch to begin with.
        file: The file of the state.
        save_freq: `"epoch"`, or a number of batches.
        identity: What `identify` returned.
        state: The state from which the training goes on, or `None`.
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
                refuse(self.file, "the data ends before the batch where it was")
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
        """Give the model its own `train_function` back."""
        passed = self.model.train_function
        if isinstance(passed, _PassedStep):
            self.model.train_function = passed.train

    def write(self, epoch: int, batch: int, begun: bool = True):
        """Write the state before a batch of an epoch.

        Args:
            epoch: The epoch that begins, or goes on.
            batch: The batches of it that were trained.
            begun: Whether anything was trained.
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
        """Put back all that is in the state, whose moment has come."""
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
    """A `train_function` that reads the batches of a step and drops them.

    The first step is trained all the same, so that the model makes its
    variables; their values are put back later.

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
