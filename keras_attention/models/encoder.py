"""A stack of recurrent layers that returns its sequence and its states."""

import keras

from keras_attention.checks import check_choice
from keras_attention.checks import check_integer
from keras_attention.checks import check_rate

LAYERS = {"lstm": keras.layers.LSTM, "gru": keras.layers.GRU}


@keras.saving.register_keras_serializable(package="keras_attention")
class RecurrentEncoder(keras.layers.Layer):
    """Reads a sequence with a stack of LSTM or GRU layers.

    Each layer reads what the one below wrote, both directions together.
    Masked steps leave the states as they are, so that the states that come
    back are those of the last real step.

    Args:
        units: Units of each layer, for each direction.
        depth: How many layers. Defaults to `1`.
        cell: `"lstm"` or `"gru"`. Defaults to `"lstm"`.
        bidirectional: Whether every layer reads both ways. Defaults to
            `True`.
        dropout: Rate at which the inputs of every layer are dropped in
            training. Defaults to `0.0`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Call arguments:
        sequence: `(B, Tv, D)`.
        mask: Boolean `(B, Tv)`, `True` at real positions. Keras fills it in
            when the sequence carries one.
        training: Whether to apply dropout.

    Returns:
        sequence: `(B, Tv, units)`, twice the units if bidirectional.
        states: Each as one more output, as Keras' own layers give them:
            `forward h, c, backward h, c` of an LSTM. With `depth > 1` one
            list of those for each layer, bottom first. `StateBridge` takes
            either.

    Raises:
        ValueError: If an argument has a wrong value.

    Example:

    >>> sequence, *states = RecurrentEncoder(8)(np.ones((2, 7, 4)))
    >>> tuple(sequence.shape), len(states)
    ((2, 7, 16), 4)
    """

    def __init__(
        self,
        units: int,
        depth: int = 1,
        cell: str = "lstm",
        bidirectional: bool = True,
        dropout: float = 0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_choice("cell", cell, LAYERS)
        self.units = check_integer("units", units)
        self.depth = check_integer("depth", depth)
        self.cell = cell
        self.bidirectional = bidirectional
        self.dropout = check_rate("dropout", dropout)
        self.supports_masking = True
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.layers = [self._layer(i) for i in range(depth)]

    def _layer(self, i):
        layer = LAYERS[self.cell](
            self.units,
            return_sequences=True,
            return_state=True,
            dtype=self.dtype_policy,
            name=f"{self.cell}_{i}",
        )
        if self.bidirectional:
            return keras.layers.Bidirectional(
                layer, dtype=self.dtype_policy, name=f"bidirectional_{i}"
            )
        return layer

    def build(self, sequence_shape):
        width = self.units * (2 if self.bidirectional else 1)
        for layer in self.layers:
            if not layer.built:
                layer.build(sequence_shape)
            sequence_shape = (*sequence_shape[:-1], width)

    def call(self, sequence, mask=None, training=None):
        states = []
        for layer in self.layers:
            sequence = self.drop(sequence, training=training)
            sequence, *own = layer(sequence, mask=mask, training=training)
            states.append(own)
        return (sequence, *(states[0] if self.depth == 1 else states))

    def compute_output_shape(self, sequence_shape):
        sequence = keras.KerasTensor(sequence_shape)
        found = self.compute_output_spec(sequence)
        return tuple(keras.tree.map_structure(lambda x: x.shape, found))

    def compute_output_spec(self, sequence, mask=None, training=None):
        def spec(*shape):
            return keras.KerasTensor(shape, dtype=self.compute_dtype)

        batch, steps = sequence.shape[:2]
        directions = 2 if self.bidirectional else 1
        count = directions * (2 if self.cell == "lstm" else 1)
        states = [
            [spec(batch, self.units) for _ in range(count)]
            for _ in range(self.depth)
        ]
        sequence = spec(batch, steps, directions * self.units)
        return (sequence, *(states[0] if self.depth == 1 else states))

    def compute_mask(self, sequence, previous_mask=None):
        return previous_mask

    def get_config(self):
        own = {
            "units": self.units,
            "depth": self.depth,
            "cell": self.cell,
            "bidirectional": self.bidirectional,
            "dropout": self.dropout,
        }
        return {**super().get_config(), **own}
