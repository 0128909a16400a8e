"""Metrics of logits, over the real tokens of all batches."""

import keras
from keras import ops

from keras_attention.checks import missing_method
from keras_attention.ops.tokens import check_tokens
from keras_attention.ops.tokens import token_crossentropy
from keras_attention.ops.tokens import token_weights
from keras_attention.training.mean_metric import AbstractMeanMetric


class AbstractTokenMetric(AbstractMeanMetric):
    """Averages one number per real token.

    A subclass writes `measure` and `result`. Padding, id 0 in `y_true`, does
    not count.

    Args:
        name: Name of the metric. Defaults to that of the class.
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
        """Compute the number of each token, which `result` averages.

        Args:
            y_true: Integer ids `(B, T)`.
            logits: `(B, T, V)`.

        Returns:
            A tensor `(B, T)`; padding may have any value.
        """
        raise missing_method(
            self,
            "measure(y_true, logits)",
            "from (B, T) and (B, T, V) to one number per token, (B, T)",
        )

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true = ops.convert_to_tensor(y_true)
        y_pred = ops.convert_to_tensor(y_pred)
        check_tokens(y_true, y_pred)
        weights = token_weights(y_true, sample_weight, self.dtype)
        self.add(self.measure(y_true, y_pred), weights)


@keras.saving.register_keras_serializable(package="keras_attention")
class TokenAccuracy(AbstractTokenMetric):
    """Computes the share of real tokens that get the highest logit.

    Formula:

        accuracy = sum(w [argmax(z) = y]) / sum(w), over y_true != 0

    Under teacher forcing, each token is predicted from the right ones before
    it; generated texts have other measures. It is 0 before any token.

    Args:
        name: Name of the metric. Defaults to `"token_accuracy"`.
        dtype: Dtype of the sums. Defaults to `keras.config.floatx()`.

    Raises:
        ValueError: If shapes do not fit.

    Example:

    >>> accuracy = TokenAccuracy()
    >>> logits = np.eye(6)[[[4, 5, 1]]]  # predicts 4, 5, 1
    >>> float(accuracy([[4, 3, 0]], logits))
    0.5
    """

    def __init__(self, name: str = "token_accuracy", dtype: str | None = None):
        super().__init__(name=name, dtype=dtype)

    def measure(self, y_true, logits):
        guesses = ops.argmax(logits, axis=-1)
        return ops.equal(ops.cast(guesses, "int32"), ops.cast(y_true, "int32"))

    def result(self):
        return self.mean()


@keras.saving.register_keras_serializable(package="keras_attention")
class Perplexity(AbstractTokenMetric):
    """Computes the perplexity: the exponential of the mean cross-entropy.

    Formula:

        perplexity = exp(sum(w l) / sum(w)), over y_true != 0
        l = -log softmax(z)[y]

    The model is as unsure as among so many equal choices: `V` if it knows
    nothing, 1 if it knows everything. It is 1 before any token. Label
    smoothing of the loss is left out, so that models with and without it can
    be compared.

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

    def __init__(self, name: str = "perplexity", dtype: str | None = None):
        super().__init__(name=name, dtype=dtype)

    def measure(self, y_true, logits):
        return token_crossentropy(y_true, logits)

    def result(self):
        return ops.exp(self.mean())
