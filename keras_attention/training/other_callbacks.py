"""The states of all other callbacks of a training."""

from typing import Any

import keras

from keras_attention.training.callback_states import fingerprints
from keras_attention.training.callback_states import others_of
from keras_attention.training.callback_states import read_callback
from keras_attention.training.callback_states import set_callback
from keras_attention.training.callback_states import warn_of_lost
from keras_attention.training.run_identity import identify_callback


class OtherCallbacks:
    """Reads and restores the states of callbacks, but of the one that writes.

    Args:
        callbacks: The callbacks. Their training has begun.
    """

    def __init__(self, callbacks: list[keras.callbacks.Callback]):
        self.callbacks = callbacks
        self.begun_with = [fingerprints(x) for x in callbacks]
        self.not_kept = [others_of(x) for x in callbacks]

    def read(self) -> list[dict[str, Any]]:
        """Read the state of each callback.

        It warns of attributes that cannot be kept, once for each callback.
        """
        for i, callback in enumerate(self.callbacks):
            known = self.not_kept[i]
            if known is not None and warn_of_lost(callback, known):
                self.not_kept[i] = None
        pairs = zip(self.callbacks, self.begun_with, strict=True)
        return [
            {
                "class": type(callback).__name__,
                "identity": identify_callback(callback),
                "state": read_callback(callback, before),
            }
            for callback, before in pairs
        ]

    def put_back(self, states: list[dict[str, Any]]):
        """Set the callbacks to states that were read before.

        Args:
            states: What `read` returned, perhaps in another process.
        """
        for state, callback in self._pairs(states):
            set_callback(callback, state["state"])

    def differing(self, states: list[dict[str, Any]]) -> list[str]:
        """List the classes of callbacks that were made with other arguments.

        Args:
            states: What `read` returned, perhaps in another process.
        """
        return [
            state["class"]
            for state, callback in self._pairs(states)
            if identify_callback(callback) != state["identity"]
        ]

    def _pairs(self, states):
        """Pair each state with the first callback of its class that is left.

        Some callbacks may be new, and others gone.
        """
        left, pairs = list(self.callbacks), []
        for state in states:
            for callback in left:
                if type(callback).__name__ == state["class"]:
                    left = [x for x in left if x is not callback]
                    pairs.append((state, callback))
                    break
        return pairs
