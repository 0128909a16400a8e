"""Metrics of logits, over the real tokens of all batches seen."""

import keras
from keras import ops

from keras_attention.ops.tokens import check_tokens
from keras_attention.ops.tokens import token_crossentropy
from keras_attention.ops.tokens import token_weights
from keras_attention.training.mean_metric import AbstractMeanMetric


class AbstractTokenMetric(AbstractMeanMetric):
    """Measures one number a token.

    A subclass writes `measure` and `result`. Padding, id 0 in `y_true`, does
    not count.

    Args:
        name: Name of the metric.
        dtype: Dtype of the sums. Defaults to `keras.config.floatx()`.

    Call arguments:
        y_true: Integer ids `(B, T)`.
        y_pred: Logits `(B, T, V)`.
        sample_weight: `(B,)`, `(B, 1)` or `(B, T)`, or `None` for 1.

    Returns:
        A scalar.

    Raises:
        ValueError: If shapes do not fit.
    """

    def measure(self, y_true, logits):
        raise NotImplementedError(
            f"{type(self).__name__} must define `measure(y_true, logits)`, "
            "from (B, T) and (B, T, V) to one number a token, (B, T)."
        )

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true = ops.convert_to_tensor(y_true)
        y_pred = ops.convert_to_tensor(y_pred)
        check_tokens(y_true, y_pred)
        weights = token_weights(y_true, sample_weight, self.dtype)
        self.add(self.measure(y_true, y_pred), weights)


@keras.saving.register_keras_serializable(package="keras_attention")
class TokenAccuracy(AbstractTokenMetric):
    """Counts the real tokens to which the model gives the highest logit.

    Formula:

        accuracy = sum(w [argmax(z) = y]) / sum(w), over y_true != 0

    Under teacher forcing: each token is judged after the right ones before
    it. Searched texts are worse, and have other measures. 0 at first.

    Args:
        name: Name of the metric. Defaults to `"token_accuracy"`.
        dtype: Dtype of the sums. Defaults to `keras.config.floatx()`.

    Raises:
        ValueError: If shapes do not fit.

    Example:

    >>> accuracy = TokenAccuracy()
    >>> logits = np.eye(6)[[[4, 5, 1]]]  # says 4, 5, 1
    >>> float(accuracy([[4, 3, 0]], logits))
    0.5
    """

    def __init__(self, name="token_accuracy", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def measure(self, y_true, logits):
        guesses = ops.argmax(logits, axis=-1)
        return ops.equal(ops.cast(guesses, "int32"), ops.cast(y_true, "int32"))

    def result(self):
        return self.mean()


@keras.saving.register_keras_serializable(package="keras_attention")
class Perplexity(AbstractTokenMetric):
    """Says among how many equal choices the model would be as unsure.

    Formula:

        perplexity = exp(sum(w l) / sum(w)), over y_true != 0
        l = -log softmax(z)[y]

    `V` for a model that knows nothing, 1 for one that knows everything and
    before any token was seen. There is no label smoothing in it, whatever
    the loss has: models with and without can be compared.

    Args:
        name: Name of the metric. Defaults to `"perplexity"`.
        dtype: Dtype of the sums. Defaults to `keras.config.floatx()`.

    Raises:
        ValueError: If shapes do not fit.

    Example:

    >>> perplexity = Perplexity()
    >>> round(float(perplexity([[4, 3, 0]], np.zeros((1, 3, 8)))), 4)
    8.0
    """

    def __init__(self, name="perplexity", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def measure(self, y_true, logits):
        return token_crossentropy(y_true, logits)

    def result(self):
        return ops.exp(self.mean())
