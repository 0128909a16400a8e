"""The loss of sequence models: cross-entropy, averaged over real tokens."""

import keras
from keras import ops

from keras_attention.ops.tokens import token_crossentropy
from keras_attention.ops.tokens import token_weights
from keras_attention.ops.tokens import weighted_sum


@keras.saving.register_keras_serializable(package="keras_attention")
class SequenceCrossentropy(keras.losses.Loss):
    """Averages the cross-entropy over the real tokens of a batch.

    Formula:
        loss = sum(w * l) / sum(w), over all tokens with y_true != 0
        l = logsumexp(z) - (1 - s) z[y] - s mean(z)

    Every token counts the same, whether its sentence is long or short, and
    padding counts nothing: twice the padding, the same loss. A mask that the
    logits carry is ignored, since it belongs to the inputs, which are shifted
    by one. A batch without a real token has loss 0, and gradient 0.

    It is computed in float32 or wider, whatever dtype the logits have. It
    never builds one-hot targets; the padding id 0 is a class like any other
    to the softmax. An id outside the `V` classes gives NaN.

    Args:
        label_smoothing: The part `s` of the probability that is spread over
            all classes, `s / V` each: from 0 to less than 1. Defaults to `0.`.
        name: Name of the loss. Defaults to `"sequence_crossentropy"`.

    Shapes:
        y_true `(B, T)` integer ids, y_pred `(B, T, V)` logits, sample_weight
        `(B,)`, `(B, 1)` or `(B, T)` -> scalar.

    Raises:
        ValueError: If `label_smoothing` is not in [0, 1), or if shapes do not
            fit.

    Example:

    >>> loss = SequenceCrossentropy()
    >>> logits = np.zeros((1, 3, 8))  # knows nothing: 8 equal classes
    >>> round(float(loss([[5, 3, 0]], logits)), 4)  # log(8)
    2.0794

    Reference:
        Label smoothing: [Szegedy et al., 2016](
        https://arxiv.org/abs/1512.00567), section 7.
    """

    def __init__(
        self,
        label_smoothing: float = 0.0,
        name: str = "sequence_crossentropy",
    ):
        super().__init__(name=name)
        if not 0 <= label_smoothing < 1:
            raise ValueError(
                "`label_smoothing` must be at least 0 and less than 1. "
                f"Received: label_smoothing={label_smoothing}. 0.1 is usual."
            )
        self.label_smoothing = label_smoothing

    def __call__(self, y_true, y_pred, sample_weight=None):
        losses = self.call(y_true, y_pred)  # (B, T)
        weights = token_weights(y_true, sample_weight, losses.dtype)
        total = ops.sum(weights)
        total = ops.where(total == 0, ops.ones_like(total), total)
        return weighted_sum(weights, losses) / total

    def call(self, y_true, y_pred):
        return token_crossentropy(y_true, y_pred, self.label_smoothing)

    def get_config(self):
        return {"label_smoothing": self.label_smoothing, "name": self.name}
