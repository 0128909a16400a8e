"""Checks of the arguments of decoders, and of their calls."""

from keras_attention.attention.memory import check_features
from keras_attention.attention.memory import check_mask
from keras_attention.attention.memory import check_rank_3
from keras_attention.checks import check_choice
from keras_attention.checks import check_integer
from keras_attention.checks import shapes_agree
from keras_attention.decoder.attentions import Attentions
from keras_attention.decoder.output import OUTPUTS
from keras_attention.decoder.window import AttentionWindow

ORDERS = ("bahdanau", "luong")


def check_window(window, attention) -> AttentionWindow | None:
    """Check and convert the argument `attention_window` of a cell.

    Args:
        window: Argument of the cell.
        attention: Argument of the cell.

    Raises:
        ValueError: If it is not `None` or a pair of numbers of positions, or
            if there is no attention.
    """
    if window is None:
        return None
    if not isinstance(window, list | tuple) or len(window) != 2:
        raise ValueError(
            "`attention_window` must be a pair of numbers of positions, "
            "before and after the last one, or None. Received: "
            f"attention_window={window!r}. Try attention_window=(2, 8)."
        )
    if attention is None:
        raise ValueError(
            "A cell with attention=None has no positions to attend to. "
            f"Received: attention_window={window!r}. Leave it out."
        )
    names = "attention_window[0]", "attention_window[1]"
    return AttentionWindow(*map(check_integer, names, window, (0, 0)))


def check_arguments(
    attentions: Attentions,
    order: str,
    input_feeding: bool,
    attention_layer_size: int | None,
    output: str,
):
    """Check that arguments have legal values and fit together.

    Args:
        attentions: Attentions of the cell.
        order: Argument of the cell.
        input_feeding: Argument of the cell.
        attention_layer_size: Argument of the cell.
        output: Argument of the cell.

    Raises:
        ValueError: If one has a wrong value, or does not fit another one.
    """
    check_choice("order", order, ORDERS)
    check_choice("output", output, OUTPUTS)
    if attention_layer_size is not None:
        check_integer("attention_layer_size", attention_layer_size)
    if order == "bahdanau" and not input_feeding:
        raise ValueError(
            "`input_feeding` belongs to order='luong'; in the order "
            "'bahdanau' the context always goes into the step. Received: "
            "input_feeding=False. Leave it out, or change the order."
        )
    needs_context = output in ("attention", "concat") or attention_layer_size
    if not attentions and needs_context:
        raise ValueError(
            "A cell with attention=None has no context: its output is the "
            f"state. Received: output={output!r}, attention_layer_size="
            f"{attention_layer_size}. Give an attention layer, or leave both "
            "out."
        )


def check_source_is_known(memories: list):
    """Raise a `ValueError` if no memory tells the batch size.

    Args:
        memories: The memory of each attention.
    """
    if not memories:
        raise ValueError(
            "A cell without attention needs `cell_states`: nothing else gives "
            "the batch size. Received: cell_states=None"
        )


def check_memory(layer, cell, memory, memory_mask, name: str, shape):
    """Check the memory of a decoder, by the names that its caller knows.

    Args:
        layer: The decoder, for the error.
        cell: Its `AttentionDecoderCell`.
        memory: The encoder's outputs, or `None`.
        memory_mask: Their mask, or `None`.
        name: Name of the decoder's inputs.
        shape: Their shape.

    Raises:
        ValueError: If there is attention and no memory, or if a shape does
            not fit.
    """
    cell.attentions.check_memory(memory)
    if not cell.attentions:
        return
    found = check_rank_3(layer, "memory", memory, "(B, Tv, Dv)")
    check_features(layer, "memory", found, cell.attentions.memory_size)
    if not shapes_agree(shape[:1], found[:1]):
        raise ValueError(
            f"{type(layer).__name__} needs `{name}` and `memory` of one batch. "
            f"Received: {name}.shape={tuple(shape)}, memory.shape={found}. "
            "Give as many rows of both."
        )
    check_mask(layer, "memory_mask", memory_mask, found[:2], "(B, Tv)")
