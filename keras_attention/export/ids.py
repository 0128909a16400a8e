"""From ids to ids in one TensorFlow graph, for formats without text."""

import re
from collections.abc import Collection

import keras
import tensorflow as tf

from keras_attention.export.portable import check_exportable
from keras_attention.export.portable import portable
from keras_attention.export.recurrent import exportable_recurrence
from keras_attention.layers import sublayers
from keras_attention.models import AbstractModel
from keras_attention.models import Seq2Seq
from keras_attention.ops import portable_program
from keras_attention.search import AbstractSearch

SIGNATURE = "translate_ids"
OUTPUTS = ("tokens", "scores")  # in this order
OTHER_FLOATS = ("float16", "bfloat16", "float64")


def ids_spec(model: AbstractModel) -> tf.TensorSpec:
    """Describe the source ids of a model, `(B, T)` or `(B, T, M)`."""
    return tf.TensorSpec(model.source_spec.shape, tf.int32, "source_ids")


def check_reads_ids(model: Seq2Seq, needed_by: str):
    """Raise a `ValueError` unless a model can be traced from ids to ids.

    Args:
        model: A `Seq2Seq`.
        needed_by: The function that exports, as the user typed it.
    """
    check_exportable(needed_by)
    if model.source_vocabulary_size is None:
        raise ValueError(
            f"{needed_by} needs a model that reads ids. Received: "
            "source_vocabulary_size=None, a model that reads features. "
            "Export it with keras.export.ExportArchive and a signature of "
            "your own."
        )
    check_float32(model, needed_by)


def check_ids_only(model: Seq2Seq, needed_by: str):
    """Raise a `ValueError` unless ids of a model mean something without text.

    Args:
        model: A `Seq2Seq`.
        needed_by: The function that exports, as the user typed it.
    """
    check_reads_ids(model, needed_by)
    if model.source_ids:
        raise ValueError(
            f"{needed_by} needs a model whose ids are all of its vocabulary. "
            "Received: copying=True, whose ids of other words mean nothing "
            "without the text. Export it text to text, as a SavedModel or "
            "with format='onnx_text'."
        )


def check_float32(
    model: keras.Model, needed_by: str, kind: type = AbstractModel
):
    """Raise a `ValueError` unless a model computes in float32.

    Args:
        model: A Keras model.
        needed_by: The function that exports, as the user typed it.
        kind: The class of those of its layers that are asked. Defaults to
            `AbstractModel`.
    """
    for part in sublayers(model):
        if isinstance(part, kind) and part.compute_dtype in OTHER_FLOATS:
            raise ValueError(
                f"{needed_by} needs a model that computes in float32. "
                f"Received: dtype={part.dtype_policy.name!r}. Build the same "
                "model with dtype policy float32, and give it the weights of "
                "this one, new_model.set_weights(model.get_weights())."
            )


def trace_ids(
    model: Seq2Seq,
    search: AbstractSearch,
    outputs: Collection[str] = OUTPUTS,
) -> tf.types.experimental.PolymorphicFunction:
    """Trace `source_ids` to what is found for them.

    Args:
        model: A `Seq2Seq`.
        search: A search strategy.
        outputs: Those of `tokens (B, N, T')`, `scores (B, N)`, `token_scores
            (B, N, T')` and `attention (B, N, T', T)` that are given, the last
            if the model attends. Defaults to `("tokens", "scores")`.

    Returns:
        A `tf.function` that is traced once, for all sizes. The recurrent
        layers in it run in a loop that every format can hold.

    Raises:
        ValueError: If a recurrent layer cannot be exported, or if the search
            draws random numbers.
    """

    def translate_ids(source_ids):
        # A loop needs at least one row and one step.
        rows, steps, *rest = tf.unstack(tf.maximum(0, 1 - tf.shape(source_ids)))
        ids = tf.pad(source_ids, [[0, rows], [0, steps], *[[0, 0]] * len(rest)])
        ids.set_shape(model.source_spec.shape)
        attends = "attention" in outputs
        found = model.generate(ids, search, None, attends)
        scores = tf.cast(found.scores, tf.float32)
        # In constants of LiteRT `-inf` is -3.4e38. This overflows to it again;
        # in ONNX a `where` of both would be a sum of products, and NaN.
        scores = scores - 10.0 * tf.nn.relu(-3e38 - scores)
        rows = tf.shape(source_ids)[0]
        given = {
            "tokens": found.tokens,
            "scores": scores,
            "token_scores": found.token_scores,
            "attention": found.weights,
        }
        return {
            name: given[name][:rows]
            for name in outputs
            if given[name] is not None
        }

    inputs = [ids_spec(model)]
    function = tf.function(translate_ids, inputs, autograph=False)
    with portable(model), exportable_recurrence(model), portable_program():
        function.get_concrete_function()
    check_deterministic(function, f"search={type(search).__name__}")
    return function


def check_deterministic(
    function: tf.types.experimental.PolymorphicFunction, received: str
):
    """Raise a `ValueError` if a traced function draws random numbers.

    Args:
        function: The `tf.function`.
        received: What drew them, for the error.
    """
    graph = function.get_concrete_function().graph.as_graph_def()
    parts = [graph.node, *(part.node_def for part in graph.library.function)]
    operations = {node.op for part in parts for node in part}
    if any(re.search("Random|Multinomial", name) for name in operations):
        raise ValueError(
            "LiteRT and ONNX files draw no random numbers. Received: "
            f"{received}. Use GreedySearch or BeamSearch, "
            "and no layer that is random outside of training."
        )
