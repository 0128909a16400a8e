"""The base of layers with kernels: their creation and configuration."""

import functools

import keras
from keras import ops

from keras_attention.layers.configs import AbstractConfigured
from keras_attention.layers.dense_inputs import AbstractDenseLayer

Initializer = str | dict | keras.initializers.Initializer
Regularizer = str | dict | keras.regularizers.Regularizer | None
Constraint = str | dict | keras.constraints.Constraint | None


class AbstractKernelLayer(AbstractConfigured, AbstractDenseLayer):
    """Creates kernels with one initializer, regularizer and constraint.

    Args:
        kernel_initializer: Initializer of every kernel. Defaults to
            `"glorot_uniform"`.
        kernel_regularizer: Regularizer of every kernel. Defaults to `None`.
        kernel_constraint: Constraint of every kernel. Defaults to `None`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.
    """

    def __init__(
        self,
        kernel_initializer: Initializer = "glorot_uniform",
        kernel_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.kernel_constraint = keras.constraints.get(kernel_constraint)

    def add_kernel(
        self, name: str, shape: tuple, matrix: tuple | None = None
    ) -> keras.Variable:
        """Add a weight to which the kernel arguments apply.

        Args:
            name: Name of the weight.
            shape: Shape of the weight.
            matrix: Shape for the initializer, whose result is then reshaped.
                Defaults to `None`, the shape of the weight.

        Returns:
            The weight, in the layer's variable dtype.
        """
        # One initializer object gives equal shapes equal values, so each
        # kernel has its own clone.
        initializer = self.kernel_initializer
        if isinstance(initializer, keras.initializers.Initializer):
            initializer = initializer.clone()
        if matrix is not None:
            initializer = functools.partial(_reshaped, initializer, matrix)
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
            autocast=False,
        )

    def add_bias(self, name: str, size: int) -> keras.Variable:
        """Add a bias vector, initially zero.

        Args:
            name: Name of the weight.
            size: Size of the vector.

        Returns:
            The weight `(size,)`, in the layer's variable dtype.
        """
        return self.add_weight(
            name=name, shape=(size,), initializer="zeros", autocast=False
        )


def _reshaped(initializer, matrix, shape, dtype=None):
    """Initialize a matrix, and reshape it to the shape of the weight."""
    return ops.reshape(initializer(matrix, dtype=dtype), shape)
