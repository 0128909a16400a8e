"""A callback that averages the weights of the last epochs."""

import keras
import numpy as np

from keras_attention.checks import check_integer


class AverageWeights(keras.callbacks.Callback):
    """Averages the weights of the last epochs when training ends.

    Formula:

        w = (w_{E-N+1} + ... + w_E) / N

    The mean is over the last `N` epochs of one call of `fit`, or over all
    epochs if there are fewer. The mean is usually better than the weights of
    each single epoch. An alternative is `use_ema` of Keras' optimizers, which
    computes a moving average over all steps. Averaging takes the memory of
    `N + 1` models. Weights that are not floating-point numbers keep their last
    values.

    Put this callback after `EarlyStopping`. `restore_best_weights` then has no
    effect, because the mean replaces the restored weights.

    Args:
        last: The number `N` of epochs, positive. Defaults to `5`.

    Raises:
        ValueError: If `last` is not positive.

    Example:

    >>> model = keras.Sequential([Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> x = np.ones((4, 2))
    >>> callbacks = [AverageWeights(last=2)]
    >>> _ = model.fit(x, x, epochs=3, callbacks=callbacks, verbose=0)

    Reference:
        [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), section 6.1.
    """

    def __init__(self, last: int = 5):
        super().__init__()
        self.last = check_integer("last", last)
        self.kept = []  # for each epoch, the float weights as NumPy arrays

    def on_train_begin(self, logs=None):
        self.kept = []

    def on_epoch_end(self, epoch, logs=None):
        # A copy: on some backends the array is the weight itself.
        found = [np.array(_read(x)) for x in self._floats()]
        self.kept = [*self.kept, found][-self.last :]

    def on_train_end(self, logs=None):
        for weight, *values in zip(self._floats(), *self.kept, strict=True):
            if values:
                mean = np.mean(values, axis=0, dtype="float64")
                weight.assign(mean.astype(values[0].dtype))
        self.kept = []

    def _floats(self):
        is_float = keras.backend.is_float_dtype
        return [x for x in self.model.weights if is_float(x.dtype)]


def _read(weight):
    """Read a weight in a dtype that NumPy supports."""
    if weight.dtype == "bfloat16":
        return keras.ops.convert_to_numpy(keras.ops.cast(weight, "float32"))
    return np.asarray(weight)
