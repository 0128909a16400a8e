"""Checks of the arguments of an `AttentionDecoderCell`."""

from keras_attention.checks import check_choice
from keras_attention.checks import check_integer
from keras_attention.decoder.attentions import Attentions
from keras_attention.decoder.output import OUTPUTS

ORDERS = ("bahdanau", "luong")


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
