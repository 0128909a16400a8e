"""The call of `fit` that a callback runs in: siblings, arguments, steps."""

import inspect
from typing import Any
from typing import NamedTuple

import keras

from keras_attention.extras import require
from keras_attention.ops.fast_paths import fast_path

KEPT = ("batch_size", "steps_per_epoch", "shuffle", "validation_freq")


class FitCall(NamedTuple):
    """What Keras does not tell a callback about its `fit`.

    Attributes:
        siblings: The list that calls it, with all other callbacks.
        data: The `x` of `fit`, or `None` if there is no `fit`.
        arguments: Those of its arguments that decide what is computed.
    """

    siblings: keras.callbacks.CallbackList
    data: Any
    arguments: dict[str, Any]

    def describe(self, model: keras.Model) -> dict[str, Any]:
        """Describe what is computed in a step and in an epoch."""
        position = getattr(self.data, "position", None)
        return {
            **self.arguments,
            "data": getattr(position, "content", None),
            "steps": self.siblings.params.get("steps"),
            "steps_per_execution": model.steps_per_execution,
            "backend": fast_path("NAME"),
        }

    @property
    def is_shuffled_anew(self) -> bool:
        """Whether the data are arrays in an order that no seed decides."""
        if fast_path("NAME") != "tensorflow":
            return False
        leaves = keras.tree.flatten(self.data)
        arrays = all(hasattr(x, "shape") for x in leaves) and leaves
        if not (arrays and self.arguments.get("shuffle")):
            return False
        tensorflow = require("tensorflow", "text", "ResumeTraining")
        return tensorflow.compat.v1.get_seed(None)[1] is None

    @property
    def goes_on(self) -> bool:
        """Whether an epoch begins in the data where the last one ended."""
        return self.arguments.get("steps_per_epoch") is not None

    @property
    def batches(self) -> int | None:
        """The batches until the data begins anew, or `None` if unknown."""
        if isinstance(self.data, keras.utils.PyDataset):
            return self.data.num_batches
        count = getattr(self.data, "cardinality", None)
        count = int(count()) if callable(count) else -1
        return None if count < 0 else count


def find_fit_call() -> FitCall:
    """Find the `fit` that is running, from a method of one of its callbacks.

    Keras gives a callback the model and the numbers of epochs and steps, but
    neither its siblings nor the arguments of `fit`. Both are on the stack.

    Raises:
        ValueError: If no list of callbacks is being called, or if `fit` has
            `steps_per_epoch` on torch.
    """
    frame, siblings = inspect.currentframe(), None
    while frame is not None:
        found = frame.f_locals
        if siblings is None:
            if isinstance(found.get("self"), keras.callbacks.CallbackList):
                siblings = found["self"]
        elif frame.f_code.co_name == "fit" and "steps_per_epoch" in found:
            _check_epochs(found["steps_per_epoch"])
            arguments = {name: found.get(name) for name in KEPT}
            return FitCall(siblings, found.get("x"), arguments)
        frame = frame.f_back
    if siblings is None:
        raise ValueError(
            "ResumeTraining needs the other callbacks. Received: a call from "
            "outside of a `keras.callbacks.CallbackList`. Give it to `fit`."
        )
    return FitCall(siblings, None, {})


def _check_epochs(steps):
    """Raise a `ValueError` where earlier batches cannot be skipped."""
    if steps is not None and fast_path("NAME") == "torch":
        raise ValueError(
            "ResumeTraining needs epochs of all the data on torch. Received: "
            f"steps_per_epoch={steps}. Leave it out."
        )


class _Nothing:
    """Stands in for a model, so that only the epoch's number is written."""

    def save_weights(self, filepath, overwrite):
        """Write nothing."""


def set_first_epoch(model: keras.Model, epoch: int, folder: str):
    """Set the epoch that the `fit` that is running starts with.

    `keras.callbacks.BackupAndRestore` can do it. Here it writes and reads the
    number alone.

    Args:
        model: The model. Later calls of `fit` start there too, unless the
            number is set to 0.
        epoch: Number of the first epoch.
        folder: An empty folder for a while.
    """
    restore = keras.callbacks.BackupAndRestore(folder)
    restore.set_model(_Nothing())
    restore.on_epoch_end(epoch - 1)
    restore.set_model(model)
    restore.on_train_begin()
