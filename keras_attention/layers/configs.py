"""Of layers that do not run: their configs, and the shapes of results."""

import contextlib
import inspect
from collections.abc import Callable
from typing import Any

import keras

FROZEN = "frozen_parts"  # in a config, where there are any


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
