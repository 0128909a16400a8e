"""How the kernels of a layer are made, and how that is configured."""

import keras


class AbstractKernelLayer(keras.layers.Layer):
    """Makes its kernels with one initializer, regularizer and constraint.

    Args:
        kernel_initializer: Initializer of every kernel. Defaults to
            `"glorot_uniform"`.
        kernel_regularizer: Regularizer of every kernel. Defaults to `None`.
        kernel_constraint: Constraint of every kernel. Defaults to `None`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.
    """

    def __init__(
        self,
        kernel_initializer="glorot_uniform",
        kernel_regularizer=None,
        kernel_constraint=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.kernel_constraint = keras.constraints.get(kernel_constraint)

    def add_kernel(self, name, shape):
        # One initializer object gives equal shapes equal values: each kernel
        # draws from a clone of its own.
        initializer = self.kernel_initializer
        if isinstance(initializer, keras.initializers.Initializer):
            initializer = initializer.clone()
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
            autocast=False,
        )

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        own = {
            "kernel_initializer": serialize(self.kernel_initializer),
            "kernel_regularizer": serialize(self.kernel_regularizer),
            "kernel_constraint": serialize(self.kernel_constraint),
        }
        return {**super().get_config(), **own}
