"""Losses of sequences, averaged over valid tokens."""

import math

import keras

from keras_attention.backend import backend
from keras_attention.backend import ops
from keras_attention.checks import check_choice
from keras_attention.checks import check_number
from keras_attention.checks import check_shape
from keras_attention.ops import entmax15
from keras_attention.ops import sparsemax
from keras_attention.ops.numerics import MASKED
from keras_attention.ops.numerics import TINY
from keras_attention.ops.numerics import widen
from keras_attention.ops.tokens import as_targets
from keras_attention.ops.tokens import check_tokens
from keras_attention.ops.tokens import pick
from keras_attention.ops.tokens import token_crossentropy
from keras_attention.ops.tokens import token_weights
from keras_attention.ops.tokens import weighted_sum

ENTMAX = {  # by alpha: what an output calls it, and what it is
    1.5: ("entmax15", entmax15),
    2: ("sparsemax", sparsemax),
}


class AbstractSequenceLoss(keras.losses.Loss):
    """Averages the results of `call`, `(B, T)`, over valid steps.

    As with Keras' losses, the shares of all replicas add up to the loss, and
    their gradients to its gradient.

    Args:
        name: Name of the loss.
    """

    def __init__(self, name: str):
        super().__init__(name=name)

    def counted(self, y_true):
        """Return the weights of steps `(B, T)`, 0 for excluded steps.

        Args:
            y_true: The targets.
        """
        return y_true

    def __call__(self, y_true, y_pred, sample_weight=None):
        losses = self.call(y_true, y_pred)
        counted = self.counted(y_true)
        weights = token_weights(counted, sample_weight, losses.dtype)
        loss, total = backend.sum_over_replicas(
            [weighted_sum(weights, losses), ops.sum(weights)]
        )
        total = ops.where(total == 0, ops.ones_like(total), total)
        _, replicas = backend.replica()
        return loss / total if replicas == 1 else loss / total / replicas


@keras.saving.register_keras_serializable(package="keras_attention")
class SequenceCrossentropy(AbstractSequenceLoss):
    """Averages the cross-entropy over the valid tokens of a batch.

    Formula:

        loss = sum(w * l) / sum(w), over all tokens with y_true != 0
        l = logsumexp(z) - (1 - s) z[y] - s mean(z)

    All tokens have the same weight, in long and in short sentences. Padding is
    excluded: more padding does not change the loss. If the logits carry a mask,
    the loss ignores it, because this mask belongs to the inputs, which are
    shifted by one position. A batch without a valid token has loss 0 and
    gradient 0. Under a `tf.distribute` strategy, the sums are over all
    replicas, and each replica gets an equal share of the loss, as with Keras'
    losses.

    To compute `loss` and `val_loss`, Keras averages the losses of all batches,
    weighted by their numbers of rows. Therefore, `loss` and `val_loss` depend
    on the batch size. `Perplexity` averages over all tokens instead: use
    `val_perplexity` for early stopping. `gradient_accumulation_steps` also
    gives equal weight to batches with few tokens and to batches with many.

    To weight classes, pass `sample_weight=weights[targets]`. Do not use the
    argument `class_weight` of `fit`: Keras would weight a row by the position
    of its largest id. `Seq2Seq` raises an error for `class_weight`; in a
    functional model, this loss cannot detect the argument.

    The loss is computed in float32 or wider, whatever dtype the logits have,
    without one-hot targets. In the softmax, the padding id 0 is a class like
    all others. An id outside the `V` classes gives NaN.

    Args:
        label_smoothing: The share `s` of the probability that is spread over
            all classes, `s / V` each: at least 0 and below 1. A usual value is
            0.1. Defaults to `0.0`.
        name: Name of the loss. Defaults to `"sequence_crossentropy"`.

    Shapes:
        y_true `(B, T)` integer ids, y_pred `(B, T, V)` logits, sample_weight
        `(B,)`, `(B, 1)` or `(B, T)` -> scalar.

    Raises:
        ValueError: If `label_smoothing` is not in [0, 1), or if shapes do not
            match.

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
        self.label_smoothing = check_number(
            "label_smoothing", label_smoothing, least=0, below=1
        )

    def call(self, y_true, y_pred):
        return token_crossentropy(y_true, y_pred, self.label_smoothing)

    def get_config(self) -> dict:
        return {"label_smoothing": self.label_smoothing, "name": self.name}


@keras.saving.register_keras_serializable(package="keras_attention")
class EntmaxLoss(AbstractSequenceLoss):
    """Averages the loss of sparse probabilities over the valid tokens.

    Formula:

        loss = sum(w * l) / sum(w), over all tokens with y_true != 0
        l = sum_j (p[j] - [j = y]) z[j] + H(p),  p = entmax(z)
        H(p) = sum_j (p[j] - p[j]^alpha) / (alpha (alpha - 1))

    This loss is to `entmax` what the cross-entropy is to softmax: its gradient
    is `p - [j = y]` as well. If the score of the correct token exceeds all
    other scores by at least `1 / (alpha - 1)`, the token's probability is 1,
    and the loss and its gradient are 0. Scores of tokens with probability 0 get
    no gradient.

    By default, a search uses softmax. Therefore, set the function in the model
    as well: `Seq2Seq(..., output="entmax15")` for `alpha=1.5`, and
    `output="sparsemax"` for `alpha=2`. A search then never generates a token of
    probability 0. `Perplexity` assumes softmax and is not meaningful for such a
    model; use `TokenAccuracy` and `ValidationScores`.

    Masks, padding, dtypes and replicas are handled as in
    `SequenceCrossentropy`. An id outside the `V` classes gives NaN. Second
    derivatives are correct; higher derivatives are not.

    Args:
        alpha: `1.5` for 1.5-entmax, `2` for sparsemax, which has more zeros.
            Defaults to `1.5`.
        name: Name of the loss. Defaults to `"entmax_loss"`.

    Shapes:
        y_true `(B, T)` integer ids, y_pred `(B, T, V)` scores, sample_weight
        `(B,)`, `(B, 1)` or `(B, T)` -> scalar.

    Raises:
        ValueError: If `alpha` is another number, or if shapes do not match.

    Example:

    >>> loss = EntmaxLoss()
    >>> scores = np.array([[[0.0, 1.0, 3.0]]])
    >>> float(loss([[2]], scores))  # 2 above all others
    0.0
    >>> round(float(loss([[1]], scores)), 4)
    2.0

    Reference:
        [Peters et al., 2019](https://arxiv.org/abs/1905.05702), equations 8
        and 9; [Blondel et al., 2020](https://arxiv.org/abs/1901.02324).
    """

    def __init__(self, alpha: float = 1.5, name: str = "entmax_loss"):
        super().__init__(name=name)
        check_choice("alpha", alpha, ENTMAX)
        self.alpha = alpha
        self.probabilities, self._entmax = ENTMAX[alpha]

    def call(self, y_true, y_pred):
        y_true, y_pred = as_targets(y_true, y_pred)
        y_true, z = ops.cast(y_true, "int32"), widen(y_pred)
        check_tokens(y_true, z)
        outside = ops.logical_or(y_true < 0, y_true >= ops.shape(z)[-1])
        z = ops.where(z < MASKED, MASKED, z)
        z = z - ops.stop_gradient(ops.max(z, axis=-1, keepdims=True))
        p = self._entmax(z)
        fixed = ops.stop_gradient(p)
        entropy = ops.sum(fixed - fixed**self.alpha, axis=-1)
        entropy = entropy / (self.alpha * (self.alpha - 1))
        right = pick(z, ops.where(outside, 0, y_true))
        losses = ops.sum(fixed * z, axis=-1) - right + entropy
        # Its value and gradient are 0, and its second derivative is that of p.
        change = (z - ops.stop_gradient(z)) * (p - fixed)
        losses = losses + 0.5 * ops.sum(change, axis=-1)
        return ops.where(outside, math.nan, losses)

    def get_config(self) -> dict:
        return {"alpha": self.alpha, "name": self.name}


@keras.saving.register_keras_serializable(package="keras_attention")
class GuidedAlignmentLoss(AbstractSequenceLoss):
    """Trains attention to match known word alignments (cross-entropy).

    Formula:

        loss = sum(w * l) / sum(w), over all steps t with a gold link
        l[t] = -sum_j g[t, j] log a[t, j],  g[t] scaled to sum_j g[t, j] = 1

    A target token with several links is trained to attend to all of them
    equally, or in proportion to a soft alignment. Tokens without a link, such
    as padding, are excluded; a batch without a link has loss 0 and gradient 0.

    The loss is computed in float32 or wider. An attention weight below 1e-12 is
    replaced with 1e-12. Therefore, a link to a position that sparsemax or a
    mask excludes adds 27.6 to the loss and has no gradient. If the weights
    carry a mask, the loss ignores it.

    Use this loss together with the loss of the tokens, for a model that returns
    `(logits, weights)`: call `compile(loss=[SequenceCrossentropy(),
    GuidedAlignmentLoss()], loss_weights=[1.0, 0.5])`, and pass `(targets,
    links)` as the targets of `fit`.

    Args:
        name: Name of the loss. Defaults to `"guided_alignment"`.

    Shapes:
        y_true `(B, T, Tv)` links, either 0 and 1 or proportions; y_pred
        `(B, T, Tv)` weights; sample_weight `(B,)`, `(B, 1)` or `(B, T)` ->
        scalar.

    Raises:
        ValueError: If shapes do not match.

    Example:

    >>> loss = GuidedAlignmentLoss()
    >>> weights = np.array([[[0.5, 0.5, 0.0], [0.2, 0.2, 0.6]]])
    >>> links = [[[1, 1, 0], [0, 0, 0]]]  # none for the second word
    >>> round(float(loss(links, weights)), 4)  # log(2)
    0.6931

    Reference:
        [Chen et al., 2016](https://arxiv.org/abs/1607.01628), the alignment
        cost by cross-entropy.
    """

    def __init__(self, name: str = "guided_alignment"):
        super().__init__(name=name)

    def counted(self, y_true):
        """Return which steps have a link: booleans `(B, T)`."""
        return ops.any(ops.not_equal(y_true, 0), axis=-1)

    def call(self, y_true, y_pred):
        links, weights = as_targets(y_true, y_pred)
        weights = widen(weights)
        links = ops.cast(links, weights.dtype)
        _check_links(links, weights)
        number = ops.sum(links, axis=-1, keepdims=True)
        links = links / ops.where(number == 0, ops.ones_like(number), number)
        logs = ops.log(ops.where(weights > TINY, weights, TINY))
        return -ops.sum(links * logs, axis=-1)

    def get_config(self) -> dict:
        return {"name": self.name}


def _check_links(links, weights):
    needs = "GuidedAlignmentLoss needs links and weights of the same shape"
    way_out = "Pad the links with zeros, like source and target."
    check_shape(needs, "y_pred", weights.shape, ("B", "T", "Tv"), way_out)
    check_shape(needs, "y_true", links.shape, tuple(weights.shape), way_out)
