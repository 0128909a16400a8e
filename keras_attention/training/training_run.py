"""One call of `fit`: its state is gathered, written, read and put back."""

import tempfile
import warnings
from pathlib import Path
from typing import Any

import keras

from keras_attention.data import read_positions
from keras_attention.data import set_positions
from keras_attention.training.counted_steps import CountedSteps
from keras_attention.training.fit_call import FitCall
from keras_attention.training.fit_call import set_first_epoch
from keras_attention.training.model_states import GROUPS
from keras_attention.training.model_states import is_ready
from keras_attention.training.model_states import make_variables
from keras_attention.training.model_states import read_inputs
from keras_attention.training.model_states import read_variables
from keras_attention.training.model_states import set_variables
from keras_attention.training.other_callbacks import OtherCallbacks
from keras_attention.training.random_states import find_shared_generator
from keras_attention.training.random_states import random_states
from keras_attention.training.random_states import set_random_states
from keras_attention.training.resume_file import read_state
from keras_attention.training.resume_file import remove_state
from keras_attention.training.resume_file import write_state
from keras_attention.training.run_identity import identify

PROGRESS = keras.callbacks.ProgbarLogger


class TrainingRun:
    """Writes the state of a training, and goes on from the last one.

    It lets its callback be called before all others, and one more after all
    of them: a state is written before anyone hears of a batch, or when all
    have heard of the end of an epoch.

    Args:
        callback: The callback of `fit` that this is done for.
        call: The call of `fit`.
        file: The file of the state.
        save_freq: `"epoch"`, or a number of batches.
        delete_checkpoint: Whether to remove the file after the last epoch.
    """

    def __init__(
        self,
        callback: keras.callbacks.Callback,
        call: FitCall,
        file: Path,
        save_freq: str | int,
        delete_checkpoint: bool,
    ):
        self.callback = callback
        self.call = call
        self.file = file
        self.save_freq = save_freq
        self.delete_checkpoint = delete_checkpoint
        self.epoch = None
        self.unwritten = 0  # batches of earlier epochs since the last state
        self.written = 0  # steps of this epoch, when a state was written
        self.source = {}  # where data and generators were when it was begun
        self.pending = None  # a state to put back within the epoch
        self.inputs = None
        self.has_start = False

    @property
    def model(self) -> keras.Model:
        """The model; on JAX its variables get the values of the last step."""
        return self.callback.model

    def begin(self):
        """Begin training, after all other callbacks, or go on with it."""
        siblings = self.call.siblings
        self.given = [x for x in siblings.callbacks[:-1]]
        others = [x for x in self.given if x is not self.callback]
        self.everyone = [self.callback, *others, siblings.callbacks[-1]]
        self.silent = [x for x in others if isinstance(x, PROGRESS)]
        others = [x for x in others if x not in self.silent]
        self.others = OtherCallbacks(others)
        siblings.callbacks = list(self.everyone)
        self.shared = find_shared_generator()
        self.steps = CountedSteps.of(self.model, self.begin_data)
        self.identity = identify(self.model, self.call.describe(self.model))
        state = read_state(self.file)
        if state is not None:
            state = self.checked(state)
        if state is None:
            self.write(None)
        else:
            self.go_on(state)

    def checked(self, state: dict[str, Any]) -> dict[str, Any] | None:
        """Raise a `ValueError` if a state is that of another training.

        Returns:
            The state, or `None` if it is another's before its first step.
        """
        ours, theirs = self.identity, state["identity"]
        other = [part for part in ours if ours[part] != theirs.get(part)]
        other += self.others.differing(state["callbacks"])
        if other and not state["begun"]:
            return None
        if other:
            self.fail(f"its {' and '.join(other)} differ")
        return state

    def fail(self, reason: object, error: Exception | None = None):
        """Raise an error that names the file."""
        raise ValueError(
            "ResumeTraining needs the state of the same training. Received: "
            f"{self.file}, which cannot be used: {reason}. Run the command "
            "that wrote it, or remove its folder to begin anew."
        ) from error

    def go_on(self, state: dict[str, Any]):
        """Go on from a state."""
        model = self.model
        try:
            if state["variables"] is not None:
                make_variables(model, state["inputs"])
            set_positions(state["positions"])
        except ValueError as error:
            self.fail(error, error)
        self.set_variables(state, ("model", "optimizer"))
        self.inputs = state["inputs"]
        self.put_back(state)
        if not state["begun"]:
            return
        if self.call.is_shuffled_anew:
            warnings.warn(
                "ResumeTraining cannot have the order of these arrays again, "
                "which Keras shuffles without a seed on TensorFlow. Call "
                "keras.utils.set_random_seed first, or give `fit` "
                "shuffle=False.",
                stacklevel=2,
            )
        first = state["epoch"]
        if state["stopped"]:
            first = max(first, self.callback.params["epochs"])
        self.start_from(first)
        self.has_start = True
        done, read = state["done"], state["read"]
        if done or read:
            self.pending = state
            set_positions(state["source"]["positions"])
            metrics = state["variables"]["values"]["metrics"]
            lacks = len(model.metrics_variables) < len(metrics)
            logs, then = state["logs"], self.data_reached
            self.steps.pass_by(done, read, logs, lacks, then)

    def set_variables(self, state: dict[str, Any], groups: tuple = GROUPS):
        """Put back variables, if they were there."""
        if state["variables"] is not None:
            try:
                set_variables(self.model, state["variables"], groups)
            except ValueError as error:
                self.fail(error, error)

    def put_back(self, state: dict[str, Any]):
        """Put back the states of callbacks and of random generators."""
        self.model.stop_training = state["stopped"]
        self.others.put_back(state["callbacks"])
        set_random_states(state["random"], self.shared)

    def start_from(self, epoch: int):
        """Set the first epoch of `fit`."""
        with tempfile.TemporaryDirectory() as folder:
            set_first_epoch(self.model, epoch, folder)

    def forget_start(self):
        """Let later calls of `fit` start from the beginning."""
        if self.has_start:
            self.start_from(0)
            self.has_start = False

    def begin_epoch(self, epoch: int):
        """Begin an epoch, before all other callbacks."""
        self.epoch = epoch
        self.written = 0
        self.forget_start()

    def epoch_begun(self):
        """Begin an epoch, after all other callbacks."""
        self.steps.begin_epoch()
        if self.pending is not None and self.pending["done"]:
            silent = [self.callback, *self.silent]
            self.call.siblings.callbacks = silent

    def begin_data(self):
        """Keep, or put back, random states before the first batch is read."""
        if self.pending is not None:
            self.source = self.pending["source"]
            set_random_states(self.source["random"], self.shared)
        else:
            self.source = {
                "positions": read_positions(),
                "random": random_states(self.shared),
            }

    def data_reached(self):
        """Put back the random states of where the epoch began in the data."""
        if not self.pending["done"]:
            set_random_states(self.pending["random"], self.shared)
            self.pending = None

    def begin_step(self):
        """Begin a step, before all other callbacks."""
        if self.pending is not None:
            if self.pending["done"] and not self.steps.passed:
                self.arrive()
        elif self.save_freq != "epoch" and self.is_due():
            self.write(self.epoch)

    def arrive(self):
        """Put back the whole state, at the step where it was written.

        Since it was put back first, callbacks have begun the epoch, and steps
        that are skipped may have drawn random numbers and trained.
        """
        state, self.pending = self.pending, None
        self.set_variables(state)
        self.put_back(state)
        self.written = state["done"]
        # This list is being walked through: all others follow.
        self.call.siblings.callbacks[:] = self.everyone

    def is_due(self) -> bool:
        """Return whether enough batches have passed since the last state."""
        steps = self.steps.done - self.written
        batches = self.unwritten + steps * self.steps.batches
        return batches >= self.save_freq

    def end_epoch(self, epoch: int):
        """End an epoch, after all other callbacks."""
        if self.save_freq == "epoch" or self.is_due():
            self.write(epoch + 1, ended=True)
        else:
            steps = self.steps.done - self.written
            self.unwritten += steps * self.steps.batches

    def write(self, epoch: int | None, ended: bool = False):
        """Write the state.

        Args:
            epoch: The epoch that goes on or begins, or `None` before any.
            ended: Whether the epoch before has just ended.
        """
        model, steps = self.model, self.steps
        batches = self.call.batches
        over = batches and steps.read * steps.batches >= batches
        fresh = ended and (over or not self.call.goes_on)
        self.inputs = self.inputs or read_inputs(steps.source)
        ready = is_ready(model)
        state = {
            "begun": epoch is not None,
            "epoch": epoch,
            "done": 0 if ended else steps.done,
            "read": 0 if fresh else steps.read,
            "stopped": bool(model.stop_training),
            "logs": _numbers(steps.logs),
            "source": self.source,
            "positions": read_positions(),
            "random": random_states(self.shared),
            "identity": self.identity,
            "inputs": self.inputs,
            "variables": read_variables(model) if ready else None,
            "callbacks": self.others.read(),
        }
        write_state(self.file, state)
        self.unwritten = 0
        self.written = steps.done

    def end(self):
        """End training, after all other callbacks."""
        self.model.train_function = self.steps.run
        self.call.siblings.callbacks = self.given
        self.forget_start()
        if self.delete_checkpoint:
            remove_state(self.file)


def _numbers(logs):
    return {
        name: float(keras.ops.convert_to_numpy(value))
        for name, value in (logs or {}).items()
    }
