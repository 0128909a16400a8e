"""Base classes of layers: their configs, dense inputs, and kernels."""

import contextlib
import functools
import inspect
import numbers
from collections.abc import Callable
from typing import Any

import keras

from keras_attention.arrays import PAD
from keras_attention.arrays import check_dense
from keras_attention.backend import ops
from keras_attention.layers.recurrence import mask_in_order

FROZEN = "frozen_parts"  # in a config, where there are any

Initializer = str | dict | keras.initializers.Initializer
Regularizer = str | dict | keras.regularizers.Regularizer | None
Constraint = str | dict | keras.constraints.Constraint | None


class AbstractConfigured:
    """Keeps the arguments of its constructor in its config.

    List this class before a base class of Keras. Each argument is an attribute
    of the same name. A subclass adds the arguments for which this is not true,
    such as one whose attribute `build` replaces with a weight, and those that
    Keras cannot serialize.
    """

    def get_config(self) -> dict:
        """Return the arguments of the constructors, by name."""
        config = super().get_config()
        names = [
            name
            for kind in type(self).__mro__
            if issubclass(kind, AbstractConfigured)
            for name in inspect.signature(kind.__init__).parameters
            if name not in config and hasattr(self, name)
        ]
        serialize = keras.saving.serialize_keras_object
        for name in names:
            value = getattr(self, name)
            if not isinstance(value, keras.Variable):
                _check_loadable(name, value)
                with contextlib.suppress(TypeError):  # it cannot be serialized
                    config[name] = serialize(value)
        return config

    @classmethod
    def from_config(cls, config: dict) -> keras.layers.Layer:
        """Create a layer from the arguments of its constructor."""
        restore = keras.saving.deserialize_keras_object
        parts = {k: x for k, x in config.items() if isinstance(x, dict | list)}
        parts = {k: restore(x) for k, x in parts.items()}
        return super().from_config({**config, **parts})


class AbstractPartMaker:
    """Keeps in its config which of its components are frozen.

    List this class before a base class of Keras. Components that are arguments
    have their own configs; a subclass names the components that it creates.

    Attributes:
        made: Names of the attributes that are such components.
    """

    made: tuple[str, ...] = ()

    def made_parts(self) -> dict[str, keras.layers.Layer | None]:
        """Return the components that the constructor creates, outer first."""
        return {name: getattr(self, name) for name in self.made}

    def get_config(self) -> dict:
        parts = self.made_parts().items()
        frozen = [name for name, x in parts if x and not x.trainable]
        return {**super().get_config(), **({FROZEN: frozen} if frozen else {})}

    @classmethod
    def from_config(cls, config: dict) -> keras.layers.Layer:
        options = {k: v for k, v in config.items() if k != FROZEN}
        layer = super().from_config(options)
        if not layer.trainable:
            layer.trainable = False  # so are its parts
        parts = layer.made_parts()
        for name in config.get(FROZEN, ()):
            parts[name].trainable = False
        return layer


def _check_loadable(name: str, value: Any):
    """Raise a `ValueError` for a function that cannot be loaded again.

    These are lambdas, `partial` objects, and functions defined inside a
    function or class, unless they are registered.

    Args:
        name: Name of the argument.
        value: Its value, of any type.
    """
    if not callable(value) or hasattr(value, "get_config"):
        return
    if getattr(value, "__qualname__", "").isidentifier():
        return
    registered = keras.saving.get_custom_objects().values()
    if not any(value is x for x in registered):
        raise ValueError(
            f"`{name}` must be a name or a registered function, so that the "
            f"model can be saved and exported. Received: {name}={value}. "
            "Decorate the function with "
            "`@keras.saving.register_keras_serializable()`."
        )


class _Operation(keras.Operation):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def call(self, *arguments):
        return self.function(*arguments)


def symbolic_result(function: Callable, *arguments: keras.KerasTensor):
    """Infer the shapes and dtypes of a function's results.

    Args:
        function: Function from tensors to any structure of tensors.
        *arguments: Symbolic tensors.

    Returns:
        The same structure of `keras.KerasTensor`s.
    """
    return _Operation(function).compute_output_spec(*arguments)


class AbstractDenseLayer(keras.layers.Layer):
    """Raises an error for ragged and sparse inputs, before Keras builds.

    In a functional model, the mask of a sequence is put in the order of the
    sequence; see `reversed_by`.

    Attributes:
        keeps_order: Whether the result is in the order of the first argument,
            whose mask it carries.
    """

    keeps_order = True

    def __call__(self, *args, **kwargs):
        parameters = inspect.signature(self.call).parameters
        names = list(parameters)
        masks = [f"`{name}`" for name in names if name.endswith("mask")]
        real = f"Pass {' and '.join(masks)}, which is True at valid positions."
        way_out = f"{PAD} {real if masks else 'Ids of 0 are masked.'}"
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        self._check_names(given, parameters.values())
        for name, value in given.items():
            for x in tensors_of(value):
                needed_by = f"{type(self).__name__} needs tensors"
                check_dense(needed_by, name, x, way_out)
        for name, value in [*given.items()]:
            own = f"{name}_mask"
            own = "mask" if name == names[0] and own not in names else own
            if own in names and given.get(own) is None:
                mask = mask_in_order(value)
                given |= {} if mask is None else {own: mask}
        args = [given.pop(name) for name in names[: len(args)]]
        return super().__call__(*args, **given)

    def _check_names(self, given, parameters):
        needed = [
            x.name
            for x in parameters
            if x.default is x.empty
            and x.kind not in (x.VAR_POSITIONAL, x.VAR_KEYWORD)
        ]
        missing = [name for name in needed if given.get(name) is None]
        if missing:
            got = ", ".join(
                f"{name}=a list of {len(value)}"
                if isinstance(value, list | tuple)
                else name + ("=None" if value is None else "")
                for name, value in given.items()
            )
            raise TypeError(
                f"{type(self).__name__} needs `{missing[0]}`. Received: "
                f"{got or 'nothing'}. Call it as "
                f"layer({', '.join(needed)}), not with a list."
            )
        names = [x.name for x in parameters]
        masks = [name for name in names if name.endswith("_mask")]
        takes_all = any(x.kind == x.VAR_KEYWORD for x in parameters)
        if masks and "mask" in given and not ("mask" in names or takes_all):
            raise TypeError(
                f"{type(self).__name__} takes no `mask`. Received: mask. "
                f"Give {', '.join(masks)} in its place."
            )


def tensors_of(x: Any) -> list:
    """List the tensors of a structure; a list of numbers counts as one."""
    leaves = keras.tree.flatten(x)
    if all(isinstance(leaf, numbers.Number) for leaf in leaves):
        return [x]
    is_list = isinstance(x, list | tuple)
    return [z for y in x for z in tensors_of(y)] if is_list else leaves


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
