"""The outputs that arguments of `Seq2Seq` select."""

import keras

from keras_attention.checks import check_choice
from keras_attention.checks import described
from keras_attention.outputs.base import SPARSE
from keras_attention.outputs.base import AbstractOutput
from keras_attention.outputs.dense import DenseOutput
from keras_attention.outputs.lexical import LexicalOutput
from keras_attention.outputs.lexical import LexicalTranslation
from keras_attention.outputs.pointer import PointerGenerator
from keras_attention.outputs.pointer import PointerOutput


def check_arguments(
    output, tie_embeddings: bool | str, copying: bool, lexical: bool
):
    """Check the arguments of a model that select its output.

    Raises:
        ValueError: If one is unknown, or if `output` is combined with others.
    """
    check_choice("tie_embeddings", tie_embeddings, (False, True, "all"))
    if isinstance(output, str):
        check_choice("output", output, SPARSE)
        if copying:
            raise ValueError(
                "`copying` and a sparse `output` cannot be combined, because "
                f"copying mixes two softmaxes. Received: {copying=} with "
                f"{output=}. Omit one of them."
            )
    elif output is not None and (tie_embeddings or copying or lexical):
        raise ValueError(
            "`output` replaces tie_embeddings, copying and lexical. Received: "
            f"{tie_embeddings=}, {copying=}, {lexical=} with "
            f"output={described(output)}. Omit them."
        )


def plain_output(
    size: int,
    embedding: keras.layers.Layer | None,
    dtype,
    probabilities: str | None = None,
) -> tuple:
    """Create the output that scores tokens with one product.

    Args:
        size: Number of target ids.
        embedding: The target embedding if it is tied, else `None`.
        dtype: Dtype policy.
        probabilities: Function that turns scores into probabilities. Defaults
            to `None`, the softmax.

    Returns:
        The output; and its dense layer, `None` if it is tied.
    """
    layer = None
    if embedding is None:
        layer = keras.layers.Dense(size, name="output_layer", dtype=dtype)
    output = DenseOutput(layer or embedding, layer is None, dtype=dtype)
    output.probabilities = probabilities or AbstractOutput.probabilities
    return output, layer


def extended_output(
    output: AbstractOutput,
    size: int,
    copying: bool,
    lexical: bool,
    dropout: float,
    dtype,
) -> tuple:
    """Extend an output with copying and lexical translation.

    Args:
        output: The output to extend.
        size: Number of target ids.
        copying: Whether source tokens can be copied.
        lexical: Whether to add a `LexicalTranslation`.
        dropout: Rate of a `LexicalTranslation`.
        dtype: Dtype policy.

    Returns:
        The output, its `PointerGenerator` or `None`, and its
        `LexicalTranslation` or `None`.
    """
    pointer = translation = None
    if copying:
        pointer = PointerGenerator(size, name="pointer_generator", dtype=dtype)
    if lexical:
        translation = LexicalTranslation(
            size, dropout=dropout, name="lexical_translation", dtype=dtype
        )
        output = LexicalOutput(output, translation, dtype=dtype)
    if copying:
        output = PointerOutput(output, pointer, dtype=dtype)
    return output, pointer, translation
