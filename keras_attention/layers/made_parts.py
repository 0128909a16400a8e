"""Layers that make parts of their own, and remember which of them train."""

import keras

FROZEN = "frozen_parts"  # in a config, where there are any


class AbstractPartMaker:
    """Keeps in its config which parts are frozen, as Keras does of a layer.

    It stands before a base class of Keras. Parts that are arguments have
    configs themselves; a subclass names those that it makes.

    Attributes:
        made: The attributes that are such parts.
    """

    made: tuple[str, ...] = ()

    def made_parts(self) -> dict[str, keras.layers.Layer | None]:
        """Return the parts that the constructor makes, outer ones first."""
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
