"""Search among the words of a shortlist, by their numbers in it."""

import math

from keras import ops

from keras_attention.checks import check_object
from keras_attention.checks import described
from keras_attention.ops.fast_paths import fast_path
from keras_attention.ops.rows import take_rows
from keras_attention.search import Shortlist
from keras_attention.search.step import ID_OPTIONS
from keras_attention.search.step import check_ids


def check_shortlist(model, search, shortlist):
    """Raise a `ValueError` unless a shortlist fits a model and a search.

    Args:
        model: A `Seq2Seq`.
        search: A search strategy, or a function like one.
        shortlist: A `Shortlist`, or `None`, which fits all.
    """
    if shortlist is None:
        return
    way_out = "Train one: Shortlist.train(model, batches)."
    check_object("shortlist", shortlist, Shortlist, way_out)
    if not all(hasattr(search, name) for name in ID_OPTIONS):
        raise ValueError(
            "`search` with a shortlist must have the attributes start_id, "
            f"end_id and forbidden_ids. Received: search={described(search)}. "
            "Write it as a subclass of AbstractSearch."
        )
    sizes = model.source_vocabulary_size, model.target_vocabulary_size
    layer = model.output_layer or model.target_embedding
    said = None
    if sizes[0] is None:
        said = "source_vocabulary_size=None"
    elif model.copying:
        said = "copying=True"
    elif layer.quantization_mode is not None:
        said = f"an output layer quantized to {layer.quantization_mode}"
    if said is not None:
        raise ValueError(
            "`shortlist` needs a model that reads ids, copies none, and has "
            f"floats as weights. Received: {said}. Leave `shortlist` out."
        )
    rows, largest = shortlist.table.shape[0], shortlist.largest
    if rows != sizes[0] or largest >= sizes[1]:
        raise ValueError(
            "`shortlist` must have a row for each source id of the model, and "
            f"target ids that it knows. Received: {rows} rows, target ids up "
            f"to {largest}, with source_vocabulary_size={sizes[0]}, "
            f"target_vocabulary_size={sizes[1]}. {way_out}"
        )


class ListedWords:
    """The words that may come in each row, and the weights that score them.

    A search gets their numbers in the list, from 0. Ids up to the largest in
    the options of the search have the same number as id.

    What is made here is the same at every step: it is computed once, before
    the loop.

    Args:
        model: A `Seq2Seq`.
        shortlist: A `Shortlist` that fits it.
        search: The search strategy that gets the numbers.
        source: Ids `(B, Tv)`.
        prefix: Ids `(B, P)`, or `None`.

    Attributes:
        prefix: The same as numbers. An id that the model does not know has
            one beyond the list.

    Raises:
        ValueError: If an id of the search is not in the vocabulary.
    """

    def __init__(self, model, shortlist, search, source, prefix=None):
        size = model.target_vocabulary_size
        check_ids(search, size)
        special = search.start_id, search.end_id, *search.forbidden_ids
        least = 1 + max(special)
        ids = shortlist.ids(source, least, size, prefix)
        ids = _cut(ids, model, search, size)
        self.prefix = None if prefix is None else _numbers(ids, prefix, size)
        self._kernel, self._bias = _taken(model, ids, size)
        self._translation = model.lexical_translation
        self._ids = ops.minimum(ids, size - 1)

    def read(self, numbers):
        """Return the ids behind numbers in the list.

        Args:
            numbers: Int32 `(B, ...)`, from 0 to `S - 1`.

        Returns:
            Int32 `(B, ...)`.
        """
        rows, count = ops.shape(self._ids)
        first = count * ops.arange(rows, dtype="int32")
        first = ops.reshape(first, (-1, *[1] * (len(numbers.shape) - 1)))
        return take_rows(ops.reshape(self._ids, (-1,)), numbers + first)

    def logits(self, outputs, weights=None, lexicon=None):
        """Score the words of the list.

        Args:
            outputs: The decoder's outputs, `(B, K, D)`.
            weights: Weights of its attention, `(B, K, Tv)`, for a lexicon.
                Defaults to `None`.
            lexicon: The embedded source `(B, Tv, E)` of a lexical model, else
                `None`. Defaults to `None`.

        Returns:
            `(B, K, S)`, `-inf` behind the end of a list.
        """
        outputs = ops.cast(outputs, self._kernel.dtype)  # as a layer does
        if lexicon is not None:
            lexical = self._translation.features(weights, lexicon)
            outputs = ops.concatenate([outputs, lexical], axis=-1)
        # Not `ops.matmul`, which computes float64 in float32 on torch.
        return outputs @ ops.swapaxes(self._kernel, 1, 2) + self._bias


def _cut(ids, model, search, size):
    """Cut what no row uses, and leave as much as a search selects from.

    Half of a list are repeated words and padding. XLA needs a size that does
    not depend on words.
    """
    xla = model.compiled and model.jit_compile
    cuts = not (xla or fast_path("COMPILES_EACH_SHAPE", False))
    if not cuts and isinstance(ids.shape[1], int):
        return ids
    names = ("beam_size", "top_k")
    needed = max(getattr(search, name, None) or 1 for name in names)
    ids = ops.pad(ids, [[0, 0], [0, needed]], constant_values=size)
    if not cuts:
        return ids
    used = ops.sum(ops.cast(ids < size, "int32"), axis=1)
    return ids[:, : ops.max(used, initial=needed)]


def _numbers(ids, prefix, size):
    """Find the numbers of a prefix, as many as there are ids before each."""
    before = ops.less(ids[:, None], prefix[..., None])  # (B, P, S)
    numbers = ops.sum(ops.cast(before, "int32"), axis=-1)
    known = ops.logical_and(prefix >= 0, prefix < size)
    beyond = ops.zeros_like(numbers) + ops.shape(ids)[1]
    return ops.where(known, ops.cast(numbers, "int32"), beyond)


def _taken(model, ids, size):
    """Take the kernel `(B, S, D)` and the bias `(B, 1, S)` of listed words.

    Those of a lexical model follow behind the outputs' features.
    """
    layer, dtype = model.output_layer, model.compute_dtype
    places = ops.minimum(ids, size - 1)
    bias = ops.zeros_like(ids, dtype)
    if layer is None:
        kernel = ops.convert_to_tensor(model.target_embedding.embeddings)
        kernel = ops.cast(take_rows(kernel, places), dtype)
    else:
        kernel, bias = _rows_of(layer.kernel, layer.bias, places, dtype)
    layer = model.lexical_translation
    if layer is not None:
        more, lexical = _rows_of(
            layer.output_kernel, layer.output_bias, places, dtype
        )
        kernel = ops.concatenate([kernel, more], axis=-1)
        bias = bias + lexical
    bias = ops.where(ids < size, bias, -math.inf)
    return kernel, ops.expand_dims(bias, 1)


def _rows_of(kernel, bias, places, dtype):
    """Take the columns of a kernel, as rows, and the numbers of its bias."""
    # Rows are taken faster than columns, this transposition included.
    kernel = ops.transpose(ops.convert_to_tensor(kernel))
    bias = take_rows(ops.convert_to_tensor(bias), places)
    return ops.cast(take_rows(kernel, places), dtype), ops.cast(bias, dtype)
