"""Losses of sequences: cross-entropies, averaged over real tokens."""

import math

import keras
from keras import ops

from keras_attention.checks import check_choice
from keras_attention.checks import check_number
from keras_attention.checks import check_shape
from keras_attention.ops import entmax15
from keras_attention.ops import sparsemax
from keras_attention.ops.numerics import MASKED
from keras_attention.ops.numerics import TINY
from keras_attention.ops.numerics import widen
from keras_attention.ops.replicas import count_replicas
from keras_attention.ops.replicas import sum_over_replicas
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
    """Averages what `call` gives for each step, `(B, T)`, over real steps.

    As with Keras' own losses, the shares of all replicas add up to the loss,
    and their gradients to its gradient.

    Args:
        name: Name of the loss.
    """

    def __init__(self, name: str):
        super().__init__(name=name)

    def counted(self, y_true):
        """Tell which steps count: numbers `(B, T)`, 0 where they do not.

        Args:
            y_true: The targets.
        """
        return y_true

    def __call__(self, y_true, y_pred, sample_weight=None):
        losses = self.call(y_true, y_pred)
        counted = self.counted(y_true)
        weights = token_weights(counted, sample_weight, losses.dtype)
        loss, total = sum_over_replicas(
            weighted_sum(weights, losses), ops.sum(weights)
        )
        total = ops.where(total == 0, ops.ones_like(total), total)
        replicas = count_replicas()
        return loss / total if replicas == 1 else loss / total / replicas


@keras.saving.register_keras_serializable(package="keras_attention")
class SequenceCrossentropy(AbstractSequenceLoss):
    """Averages the cross-entropy over the real tokens of a batch.

    Formula:

        loss = sum(w * l) / sum(w), over all tokens with y_true != 0
        l = logsumexp(z) - (1 - s) z[y] - s mean(z)

    Every token counts the same, in long sentences and in short ones. Padding
    does not count: with twice the padding the loss is the same. A mask that
    the logits carry is ignored, since it belongs to the inputs, which are
    shifted by one. A batch without a real token has loss 0 and gradient 0.
    Under a strategy of `tf.distribute` the sums are over all replicas, and
    each replica gets an equal share of the loss, as with Keras' losses.

    Of several batches, Keras' `loss` and `val_loss` are means over rows of the
    batches' means, and so depend on the batch size. `Perplexity` is over all
    tokens: stop by `val_perplexity`. Likewise `gradient_accumulation_steps`
    averages batches with few tokens and with many.

    To weight classes, give `sample_weight=weights[targets]`. A functional model
    with this loss cannot refuse the `class_weight` of `fit`, which weights a
    row by the position of its largest id; `Seq2Seq` does.

    The loss is computed in float32 or wider, whatever dtype the logits have,
    without one-hot targets. To the softmax, the padding id 0 is a class like
    any other. An id outside the `V` classes gives NaN.

    Args:
        label_smoothing: The share `s` of the probability that is spread over
            all classes, `s / V` each: at least 0, below 1. 0.1 is usual.
            Defaults to `0.0`.
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
        self.label_smoothing = check_number(
            "label_smoothing", label_smoothing, least=0, below=1
        )

    def call(self, y_true, y_pred):
        return token_crossentropy(y_true, y_pred, self.label_smoothing)

    def get_config(self) -> dict:
        return {"label_smoothing": self.label_smoothing, "name": self.name}


@keras.saving.register_keras_serializable(package="keras_attention")
class EntmaxLoss(AbstractSequenceLoss):
    """Averages the loss of sparse probabilities over the real tokens.

    Formula:

        loss = sum(w * l) / sum(w), over all tokens with y_true != 0
        l = sum_j (p[j] - [j = y]) z[j] + H(p),  p = entmax(z)
        H(p) = sum_j (p[j] - p[j]^alpha) / (alpha (alpha - 1))

    It is to `entmax` what the cross-entropy is to softmax, and its gradient is
    `p - [j = y]` likewise. It is 0, and trains no more, once the right word
    has the probability 1, which is so as soon as its score is above all others
    by `1 / (alpha - 1)`. Words that get the probability 0 are not trained.

    A model that is trained with it says so, since its search takes scores for
    those of softmax otherwise: `Seq2Seq(..., output="entmax15")` for
    `alpha=1.5`, `output="sparsemax"` for `alpha=2`. A search then never writes
    a word of probability 0. `Perplexity` is one of softmax, and means nothing
    here; `TokenAccuracy` and `ValidationScores` hold.

    What counts, and what does not, is as in `SequenceCrossentropy`: masks,
    padding, dtypes, replicas. An id outside the `V` classes gives NaN. Second
    derivatives are right, higher ones are not.

    Args:
        alpha: `1.5` for 1.5-entmax, `2` for sparsemax, which has more zeros.
            Defaults to `1.5`.
        name: Name of the loss. Defaults to `"entmax_loss"`.

    Shapes:
        y_true `(B, T)` integer ids, y_pred `(B, T, V)` scores, sample_weight
        `(B,)`, `(B, 1)` or `(B, T)` -> scalar.

    Raises:
        ValueError: If `alpha` is another number, or if shapes do not fit.

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
    """Guides attention by known word alignments: the cross-entropy to them.

    Formula:

        loss = sum(w * l) / sum(w), over all steps t with a gold link
        l[t] = -sum_j g[t, j] log a[t, j],  g[t] scaled to sum_j g[t, j] = 1

    A target word with several links should attend to all of them equally, or
    as a soft alignment says. A word without a link, such as padding, does not
    count; a batch without a link has loss 0 and gradient 0.

    The loss is computed in float32 or wider. A weight below 1e-12 counts as
    1e-12, with gradient 0: a link to a position that sparsemax or a mask
    excludes costs 27.6 and trains nothing. A mask that the weights carry is
    ignored.

    Use it beside the loss of the words, for a model that returns `(logits,
    weights)`: `compile(loss=[SequenceCrossentropy(), GuidedAlignmentLoss()],
    loss_weights=[1.0, 0.5])`, and `(targets, links)` as the targets of `fit`.

    Args:
        name: Name of the loss. Defaults to `"guided_alignment"`.

    Shapes:
        y_true `(B, T, Tv)` links, 0 and 1 or shares; y_pred `(B, T, Tv)`
        weights; sample_weight `(B,)`, `(B, 1)` or `(B, T)` -> scalar.

    Raises:
        ValueError: If shapes do not fit.

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
        """Tell which steps have a link: booleans `(B, T)`."""
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
    needs = "GuidedAlignmentLoss needs links and weights of one shape"
    way_out = "Pad the links with zeros, as source and target are padded."
    check_shape(needs, "y_pred", weights.shape, ("B", "T", "Tv"), way_out)
    check_shape(needs, "y_true", links.shape, tuple(weights.shape), way_out)
