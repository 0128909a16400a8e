"""The steps of `fit`: counted, and skipped if they were trained before."""

from collections.abc import Callable
from typing import Any

import keras

from keras_attention.ops.fast_paths import fast_path


class CountedSteps:
    """Replaces a model's `train_function`, and counts and skips steps.

    Keras calls it once for each step. It can skip steps that were trained
    before: their batches are read and dropped, and `fit` counts on.

    Args:
        run: The model's own `train_function`.
        batches: How many batches a step takes, `model.steps_per_execution`.
        begin: Called without arguments before the first batch is read from
            new data.
    """

    def __init__(self, run: Callable, batches: int, begin: Callable):
        self.run = run
        self.batches = batches
        self.begin = begin
        self.done = 0  # in this epoch
        self.read = 0  # of this data: more, if an epoch goes on with it
        self.passed = 0  # still to be passed by in this epoch
        self.logs = {}
        self.source = None
        self._ahead = 0
        self._trains_last = False
        self._then = None
        # Torch's `fit` reads a batch before callbacks hear of its step.
        self._is_given_batches = fast_path("NAME") == "torch"

    @classmethod
    def of(cls, model: keras.Model, begin: Callable) -> "CountedSteps":
        """Put counted steps into a model, in place of earlier ones.

        Args:
            model: A model that is compiled, in `fit`.
            begin: As in the constructor.

        Returns:
            What stands in `model.train_function`.
        """
        run = model.train_function
        if isinstance(run, cls):
            run = run.run
        model.train_function = cls(run, model.steps_per_execution, begin)
        return model.train_function

    def begin_epoch(self):
        """Count the steps of an epoch from 0."""
        self.done = 0
        if self._is_given_batches:
            self.read = 0
            self.begin()

    def pass_by(
        self,
        done: int,
        read: int,
        logs: dict[str, float],
        trains_last: bool,
        then: Callable,
    ):
        """Skip the next steps.

        Args:
            done: How many steps of the epoch.
            read: How many of the data, those of earlier epochs included.
            logs: What each of them returns.
            trains_last: Whether the last of them trains all the same, so that
                the model makes its variables.
            then: Called without arguments when the batches of earlier epochs
                have been dropped.
        """
        self.passed = done
        self._ahead = read - done
        self.logs = logs
        self._trains_last = trains_last
        self._then = then

    def __call__(self, *arguments):
        *state, source = arguments
        if not self._is_given_batches and source is not self.source:
            self.source = source
            self.read = 0
            self.begin()
        self._drop(source, self._ahead)
        self.read += self._ahead + 1
        self.done += 1
        self._ahead = 0
        if self._then is not None:
            self._then()
            self._then = None
        if not self.passed:
            results = self.run(*arguments)
            self.logs = results[0] if state else results
            return results
        self.passed -= 1
        if self._trains_last and not self.passed:
            results = self.run(*arguments)
            state = list(results[1:]) if state else []
        else:
            self._drop(source, 1)
        return (self.logs, *state) if state else self.logs

    def _drop(self, source: Any, steps: int):
        if self._is_given_batches:
            return
        for _ in range(steps * self.batches):
            if next(source, None) is None:
                raise ValueError(
                    "ResumeTraining needs the data that its state was written "
                    "with. Received: data that ends before the batch where it "
                    "was. Give the same files and arguments."
                )
