"""Knowledge distillation: a student learns a teacher's probabilities."""

import functools
from collections.abc import Sequence

import keras

from keras_attention.backend import ops
from keras_attention.checks import check_number
from keras_attention.checks import check_shape
from keras_attention.layers import carried_mask
from keras_attention.layers.recurrence import with_mask
from keras_attention.ops.numerics import widen


@keras.saving.register_keras_serializable(package="keras_attention")
class SequenceDistillation(keras.distillation.DistillationLoss):
    """Averages the cross-entropy between two models over valid tokens.

    Formula:

        loss = t^2 sum(w * l) / sum(w)
        l = -sum_v softmax(teacher / t)[v] log softmax(student / t)[v]

    Use it with `SequenceDistiller`, for models that read and predict the same
    ids. Outputs can be logits or log probabilities. The weights `w` are the
    mask that the outputs carry. A `SequenceDistiller` sets this mask, so that
    `w` is 1 at tokens and 0 at padding. Without a mask, as with
    `keras.distillation.Distiller`, padding counts like tokens. The teacher gets
    no gradient. The factor `t^2` keeps gradients at the same scale as without a
    temperature.

    Args:
        temperature: The temperature `t`, above 0; higher values give more
            weight to unlikely tokens. Defaults to `1.0`.

    Shapes:
        teacher_outputs `(B, T, V)`, student_outputs `(B, T, V)` -> scalar.

    Raises:
        ValueError: If `temperature` is not a positive number, or if the shapes
            of the outputs differ.

    Example:

    >>> from keras_attention import SequenceDistillation
    >>> loss = SequenceDistillation()
    >>> same = np.zeros((1, 3, 8), "float32")  # 8 equal classes
    >>> round(float(loss.compute_loss(same, same)), 4)  # log(8)
    2.0794

    Reference:
        [Hinton et al., 2015](https://arxiv.org/abs/1503.02531), section 2; for
        sequences: [Kim and Rush, 2016](https://aclanthology.org/D16-1139/),
        section 3.1, "word-level knowledge distillation".
    """

    def __init__(self, temperature: float = 1.0):
        self.temperature = check_number("temperature", temperature, above=0)

    def compute_loss(self, teacher_outputs, student_outputs, **kwargs):
        """Compute the loss.

        Args:
            teacher_outputs: Logits or log probabilities of the teacher.
            student_outputs: Logits or log probabilities of the student.
            **kwargs: Ignored.

        Returns:
            A scalar.
        """
        needs = (
            "SequenceDistillation needs outputs with the same target vocabulary"
        )
        way_out = "Use the same tokenizers for teacher and student."
        shape = tuple(teacher_outputs.shape)
        check_shape(
            needs, "student_outputs", student_outputs.shape, shape, way_out
        )
        teacher, student = (
            ops.log_softmax(widen(ops.convert_to_tensor(x)) / self.temperature)
            for x in (teacher_outputs, student_outputs)
        )
        shares = ops.stop_gradient(ops.exp(teacher))
        # A share of 0 counts nothing, of an impossible token either.
        terms = ops.where(shares > 0, shares * student, ops.zeros_like(student))
        losses = -ops.sum(terms, axis=-1)
        mask = carried_mask(student_outputs)
        mask = carried_mask(teacher_outputs) if mask is None else mask
        if mask is None:
            mask = ops.ones_like(losses)
        weights = ops.cast(mask, losses.dtype)
        total = ops.maximum(ops.sum(weights), 1)
        return self.temperature**2 * ops.sum(weights * losses) / total

    def get_config(self) -> dict:
        """Return the arguments of the constructor."""
        return {"temperature": self.temperature}

    @classmethod
    def from_config(cls, config: dict) -> "SequenceDistillation":
        """Create a loss from the result of `get_config`.

        Args:
            config: The arguments.

        Returns:
            The loss.
        """
        return cls(**config)


class SequenceDistiller(keras.distillation.Distiller):
    """Trains a student with a teacher, on sequences with padding.

    This class extends `keras.distillation.Distiller`, whose distillation losses
    do not receive the targets, and so cannot recognize padding. Here, the
    student's outputs carry a mask that is true where the target is not 0, so
    that `SequenceDistillation` can leave out padding.

    Args:
        teacher: The trained model. It is frozen: `trainable` becomes `False`.
        student: The model that is trained.
        distillation_losses: A loss such as `SequenceDistillation`, or a list
            of such losses.
        distillation_loss_weights: The weight of each distillation loss.
            Defaults to `None`, which gives each the weight 1.
        student_loss_weight: The weight of the student's own loss. The weight of
            the distillation losses is `1 - student_loss_weight`. Defaults to
            `0.5`.
        name: Name of the model.

    Example:

    ```python
    from keras_attention import SequenceDistiller

    distiller = SequenceDistiller(teacher, student, SequenceDistillation())
    distiller.compile("adam", SequenceCrossentropy())
    distiller.fit(batches)
    ```
    """

    def __init__(
        self,
        teacher: keras.Model,
        student: keras.Model,
        distillation_losses,
        distillation_loss_weights: Sequence[float] | None = None,
        student_loss_weight: float = 0.5,
        name: str = "distiller",
        **kwargs,
    ):
        losses = distillation_losses, distillation_loss_weights
        super().__init__(
            *(teacher, student, *losses, student_loss_weight, name), **kwargs
        )

    def compute_output_shape(self, input_shape):
        """Return the shape of the student's outputs.

        Args:
            input_shape: Shapes of source and target.
        """
        return self.student.compute_output_shape(input_shape)

    def build(self, input_shape):
        for model in (self.teacher, self.student):
            if not model.built:
                model.build(input_shape)

    @functools.wraps(keras.distillation.Distiller.compute_loss)
    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        if y_pred is None:
            y_pred = self(x, training=training)
        if y is not None:
            y_pred = with_mask(y_pred, ops.not_equal(y, 0))
        return super().compute_loss(x, y, y_pred, sample_weight, training)
