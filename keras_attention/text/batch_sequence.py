"""Batches of parallel text for Keras, where TensorFlow is not installed."""

from collections.abc import Iterator

import keras

from keras_attention.text.batches import Batches


class BatchSequence(keras.utils.PyDataset):
    """Gives `fit` the batches of one epoch after another.

    The order is that of the epoch, whatever numbers Keras asks for. A new
    epoch begins where a `tf.data.Dataset` would begin one: when the last one
    is over, or when Keras asks for a number again.

    Args:
        batches: Yields the batches of one epoch at each call.
    """

    def __init__(self, batches: Batches):
        super().__init__()
        self.batches = batches
        self._forget()
        self._is_within = self._is_left = False

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator:
        return self.batches()

    def __getitem__(self, index: int):
        follows = index == len(self._asked) == self._first_missing
        over = len(self._asked) == len(self)
        if over or index in self._asked or (self._is_left and not follows):
            self._forget()
        self._is_left = False
        if self._epoch is None:
            self._epoch = self.batches()
        self._asked.add(index)
        while self._first_missing in self._asked:
            self._first_missing += 1
        return next(self._epoch)

    def on_epoch_begin(self):
        """Begin anew if the last epoch of `fit` was left without an end."""
        if self._is_within:
            self._forget()
        self._is_within = True

    def on_epoch_end(self):
        """Note that Keras may go on, or leave the epoch."""
        self._is_within = False
        self._is_left = True

    def _forget(self):
        self._epoch, self._asked, self._first_missing = None, set(), 0
