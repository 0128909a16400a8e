"""How attention layers read a source that still comes in."""

from keras_attention.alignments import AbstractReading
from keras_attention.attention.base import AbstractAttention
from keras_attention.checks import refuse_to_stream

WAY_OUT = "Use a score of the query and a key, as that of BahdanauAttention."


def find_reading(layer: AbstractAttention) -> AbstractReading:
    """Return how to read a source that still comes in.

    A layer that computes its weights in a way of its own has a method
    `reading()` that says it; else its alignment does.

    Args:
        layer: An attention layer.

    Raises:
        ValueError: If its weights or its scores need the end of the source.
    """
    if hasattr(layer, "reading"):
        return layer.reading()
    check_scores_in_part(layer)
    return layer.aligner.reading()


def check_scores_in_part(layer: AbstractAttention):
    """Check that scores can be taken on a part of the source.

    Args:
        layer: An attention layer, whose score of a position depends on the
            query and its own key alone.

    Raises:
        ValueError: If they depend on more than that.
    """
    kind = type(layer).__name__
    if layer.head_count is not None:
        reason = "has heads that stop at different positions"
        way_out = "Use several attentions, AttentionDecoderCell(cell, [...])."
        refuse_to_stream(kind, reason, way_out)
    if layer.remembers:
        reason = "scores by its earlier weights on the whole source"
        refuse_to_stream(kind, reason, WAY_OUT)
    own, plain = (
        (x.weigh, x.reachable) for x in (type(layer), AbstractAttention)
    )
    if own != plain:
        reason = "weighs positions by their place in the whole source"
        refuse_to_stream(kind, reason, WAY_OUT)


def harden(layer: AbstractAttention) -> list[str]:
    """Change to modes that put all weight on one position, if there are any.

    Args:
        layer: An attention layer, whose weights stay as they are.

    Returns:
        What was changed, in words; an empty list if nothing was.
    """
    if layer.head_count is not None:
        return [change for head in layer.heads for change in harden(head)]
    return [] if layer.aligner is None else layer.aligner.harden()
