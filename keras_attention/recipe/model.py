"""Build the model of a recipe."""

import keras

from keras_attention.alignments import ForwardAlignment
from keras_attention.alignments import Monotonic
from keras_attention.attention import BahdanauAttention
from keras_attention.attention import ChunkwiseAttention
from keras_attention.attention import CoverageAttention
from keras_attention.attention import LocationAwareAttention
from keras_attention.attention import LuongGeneral
from keras_attention.decoder import AttentionDecoder
from keras_attention.decoder import AttentionDecoderCell
from keras_attention.decoder import StateBridge
from keras_attention.models import RecurrentEncoder
from keras_attention.models import Seq2Seq
from keras_attention.outputs import AbstractOutput
from keras_attention.outputs import HardAttention
from keras_attention.recipe.options import Recipe

ATTENTIONS = {
    "additive": BahdanauAttention,
    "general": lambda _: LuongGeneral(use_scale="sqrt"),
    "location_aware": lambda units: LocationAwareAttention(units, 8, 5),
    "coverage": CoverageAttention,
    "entmax15": lambda units: BahdanauAttention(units, alignment="entmax15"),
    "sparsemax": lambda units: BahdanauAttention(units, alignment="sparsemax"),
    "monotonic": lambda units: BahdanauAttention(units, alignment=Monotonic()),
    "forward": lambda units: BahdanauAttention(
        units, alignment=ForwardAlignment()
    ),
    "chunkwise": lambda units: ChunkwiseAttention(
        BahdanauAttention(units, alignment=Monotonic()),
        BahdanauAttention(units),
        chunk_size=3,
    ),
    "hard": lambda units: HardAttention(BahdanauAttention(units), units),
    "hard_monotonic": lambda units: HardAttention(
        BahdanauAttention(units), units, order=1, monotonic=True
    ),
}


def make_model(
    recipe: Recipe, source_vocabulary_size: int, target_vocabulary_size: int
) -> Seq2Seq:
    """Build the model of a recipe with random weights.

    Args:
        recipe: The recipe.
        source_vocabulary_size: Number of source ids.
        target_vocabulary_size: Number of target ids.

    Returns:
        The built model.
    """
    units, layers = recipe.units, range(recipe.layers)
    attention = ATTENTIONS[recipe.attention](units)
    hard = isinstance(attention, AbstractOutput)
    cell = AttentionDecoderCell(
        [keras.layers.LSTMCell(2 * units) for _ in layers],
        None if hard else attention,
        recipe.order,
        attention_layer_size=None if hard else units,
    )
    model = Seq2Seq(
        source_vocabulary_size=source_vocabulary_size,
        target_vocabulary_size=target_vocabulary_size,
        embedding_dim=units,
        encoder=RecurrentEncoder(
            units, recipe.layers, dropout=recipe.dropout if layers[1:] else 0.0
        ),
        bridge=StateBridge(),
        decoder=AttentionDecoder(cell),
        tie_embeddings=not hard,
        dropout=recipe.dropout,
        output=attention if hard else None,
    )
    model.build(((None, None), (None, None)))
    return model
