"""A lexical shortlist: the few target words that a source can be written by."""

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from typing import NamedTuple
from typing import NoReturn
from typing import Self

import numpy as np
from keras import ops

from keras_attention.checks import check_ids
from keras_attention.checks import check_integer
from keras_attention.checks import described
from keras_attention.files import check_archive
from keras_attention.files import reading
from keras_attention.files import recover
from keras_attention.files import replaced_file
from keras_attention.ops.programs import compiled
from keras_attention.ops.rows import take_rows
from keras_attention.outputs.base import AbstractOutput
from keras_attention.search.step import ID_OPTIONS
from keras_attention.search.step import check_search_ids

LARGEST = 2**31 - 1
HELD = 2**22  # pairs that wait to be summed
ROOM = 20  # times the pairs that are asked for are kept meanwhile
MULTIPLE = 8  # of it are lengths while training, for few compilations
NAMES = ("table", "always")
SIDES = "source", "target"
TOKENIZERS = "Take batches by the tokenizers that belong to the model."


class Shortlist:
    """Limits a search to the words that can translate its source.

    Formula:

        list(x) = always + table[x_1] + ... + table[x_Tv]
        p(y | ...) = softmax of the logits of the words in list(x)

    The product with the vocabulary, and the softmax over it, are most of the
    time of a step if the vocabulary is large. With a shortlist they are over
    some hundred words. Each row has a list of its own, so that a translation
    does not depend on the others in its batch.

    It is an argument of `Seq2Seq.generate`, and of `Translator`, which saves
    and exports it. Ids from 0 to the largest in the search's options, words
    of a prefix, and start and end are in every list. So keep `forbidden_ids`
    small, such as `[1]`.

    It holds `(B, S, D)` numbers for `S` words in the longest list, at most
    `V`, and outputs of size `D`. It is made for sentences: a source of a
    thousand words lists most of a vocabulary, and gains nothing.

    Args:
        table: Integers `(Vs, C)`: for each source id the target ids that may
            translate it, 0 where there are fewer. Row 0, of padding, is
            not used.
        always: Integers `(F,)`: target ids that may come in every text.

    Attributes:
        table: Int32 array `(Vs, C)`.
        always: Int32 array `(F,)`.
        largest: The largest target id of both.

    Raises:
        ValueError: If an argument has another shape, is not of integers, or
            has a negative one.

    Example:

    >>> shortlist = Shortlist(table=[[0, 0], [5, 7], [9, 0]], always=[2, 3])
    >>> np.array(shortlist.ids([[1, 2, 0]], least=4, size=10)).tolist()
    [[0, 1, 2, 3, 5, 7, 9, 10, 10, 10]]

    Reference:
        [Jean et al., 2015](https://arxiv.org/abs/1412.2007), section 3.3, and
        [Junczys-Dowmunt et al., 2018](https://arxiv.org/abs/1804.00344).
    """

    def __init__(self, table, always):
        self.table = _as_ids("table", table, "(Vs, C)")
        self.always = _as_ids("always", always, "(F,)")
        self.table[:1] = 0  # padding
        for ids in (self.table, self.always):
            ids.flags.writeable = False  # compiled programs hold them
        parts = self.table, self.always
        self.largest = int(max(ids.max(initial=0) for ids in parts))

    @classmethod
    def train(
        cls, model, batches: Iterable, candidates: int = 30, always: int = 100
    ) -> Self:
        """Find a shortlist by the attention of a trained model.

        Formula:

            count[s, y] = sum of w_ti over all t, i with y_t = y and x_i = s

        with the weight `w_ti` of source position `i` at target word `t`, the
        mean if there are several attentions. Of each source id the
        `candidates` with the largest counts are kept. To divide by the sum
        of the row, for `p(y | s)`, would change no order within it. Words
        that are always allowed take none of these places.

        Args:
            model: A trained model that attends.
            batches: Batches as `fit` takes them, `((source, target[:, :-1]),
                target[:, 1:])`, such as one epoch of the training data.
            candidates: How many target ids a source id has, `C`. Defaults to
                `30`.
            always: How many of the most frequent target ids are always
                allowed, `F`. Defaults to `100`.

        Returns:
            A `Shortlist`.

        Raises:
            ValueError: If the model has no attention, reads features, copies
                words, or has an encoder that changes the length; or if there
                is no batch, or one with an id that the model does not know.
        """
        check_integer("candidates", candidates)
        check_integer("always", always, least=0)
        if model.source_vocabulary_size is None:
            _refuse("source_vocabulary_size=None")
        if model.source_ids:
            _refuse("copying=True")
        sizes = model.source_vocabulary_size, model.target_vocabulary_size
        counts = PairCounts(*sizes, candidates)
        frequency = np.zeros(sizes[1], "int64")
        attend = compiled(
            lambda *pair: sum(model.attend(*pair) or _refuse("attention=None")),
            model,
        )
        for (source, before), after, *_ in batches:
            source, before, after = map(_widened, (source, before, after))
            sides = zip(SIDES, (source, after), sizes, strict=True)
            for side, ids, size in sides:
                needed_by = f"Shortlist.train needs {side}"
                check_ids(needed_by, ids, size, "", TOKENIZERS)
            weights = ops.convert_to_numpy(attend(source, before))
            if weights.shape[-1] != source.shape[1]:
                _refuse(
                    f"weights of {weights.shape[-1]} positions for sources of "
                    f"{source.shape[1]} ids, by an encoder that changes the "
                    "length"
                )
            counts.add(source, after, weights)
            frequency += np.bincount(after[after != 0], minlength=sizes[1])
        if not frequency.any():
            raise ValueError(
                "Shortlist.train needs batches with words. Received: "
                f"batches={batches!r}, which gave none. An iterator is used "
                "up by its first reading: give a new one."
            )
        common = np.argsort(-frequency, kind="stable")[:always]
        common = common[frequency[common] > 0]
        return cls(counts.best(common), common)

    def ids(self, source, least: int, size: int, prefix=None):
        """List the target ids that may come in each row.

        Args:
            source: Ids `(B, Tv)`.
            least: The ids below it are in every list. So each of them has its
                own number in it.
            size: Number of target ids, `V`.
            prefix: Ids `(B, P)` that are in the list of their row too, as far
                as they are below `V`; or `None`. Defaults to `None`.

        Returns:
            Int32 `(B, S)`, in each row ascending, every id once, then `V` up
            to the end. `S` is `least + F + Tv C + P`, or `V` if that is less.
        """
        source = ops.cast(ops.convert_to_tensor(source), "int32")
        rows, steps = ops.shape(source)
        common = [*range(least), *self.always.tolist()]
        every = ops.zeros((rows, 1), "int32") + ops.convert_to_tensor(
            common, "int32"
        )
        found = take_rows(ops.convert_to_tensor(self.table), source)
        found = ops.reshape(found, (rows, steps * self.table.shape[1]))
        parts = [every, found]
        if prefix is not None:
            parts.append(ops.clip(ops.cast(prefix, "int32"), 0, size))
        ids = ops.sort(ops.concatenate(parts, axis=1), axis=1)
        again = ops.equal(ids[:, 1:], ids[:, :-1])
        rest = ops.where(again, size, ids[:, 1:])
        ids = ops.concatenate([ids[:, :1], rest], axis=1)
        return ops.sort(ids, axis=1)[:, :size]

    def save(self, file: str | os.PathLike) -> None:
        """Write a `*.npz` file, whole or not at all.

        Args:
            file: The file. One that is there is replaced.

        Raises:
            ValueError: If its name ends otherwise.
        """
        with replaced_file(file, ".npz") as draft:
            np.savez(draft, table=self.table, always=self.always)

    @classmethod
    def load(cls, file: str | os.PathLike) -> Self:
        """Read what `save` wrote.

        Args:
            file: The file.

        Returns:
            The shortlist.

        Raises:
            ValueError: If the file is missing or damaged. The message names
                it.
        """
        file = Path(file)
        recover(file)
        check_archive(file)
        with reading(file, "Shortlist.load needs a file that `save` wrote."):
            with np.load(file, allow_pickle=False) as content:
                return cls(*(content[name] for name in NAMES))


def _refuse(received) -> NoReturn:
    raise ValueError(
        "Shortlist.train needs a model that reads ids, attends to each of "
        f"them and copies none. Received: {received}. Make a table by a word "
        "aligner, and give it to Shortlist(table, always)."
    )


def _widened(ids):
    """Pad ids `(B, T)` to few lengths, as NumPy array."""
    ids = ops.convert_to_numpy(ids)
    return np.pad(ids, [[0, 0], [0, -ids.shape[1] % MULTIPLE]])


def _as_ids(name, value, shape):
    """Copy ids to int32, or raise an error."""
    ids = np.asarray(value)
    axes = shape.count(",") + 1 - shape.endswith(",)")
    if ids.ndim != axes:
        said = f"{name}.shape={ids.shape}"
    elif axes == 2 and not ids.size:
        said = f"{name}.shape={ids.shape}, without an id"
    elif ids.size and ids.dtype.kind not in "iu":
        said = f"{name}.dtype={ids.dtype}"
    elif ids.size and not 0 <= ids.min() <= ids.max() <= LARGEST:
        said = f"{name} from {ids.min()} to {ids.max()}"
    else:
        return np.array(ids, "int32")
    raise ValueError(
        f"`{name}` of a Shortlist must be ids {shape}, integers that are not "
        f"negative. Received: {said}. Shortlist.train makes one."
    )


class _Listed(NamedTuple):
    ids: Any  # (B, S) int32, ascending, below V
    kernel: Any  # (B, D, S)
    bias: Any  # (B, 1, S), -inf behind the end of a list
    inner: Any  # what the other output has prepared


class ShortlistOutput(AbstractOutput):
    """Scores the words of a shortlist alone, by the rows of another output.

    Scores `(B, K, S)` are of the ids `(B, S)`, each row's own. Those up to the
    largest id in the options of the search are in every list, so that their
    numbers in it are the ids themselves.

    Args:
        output: The other output.
        shortlist: A `Shortlist` that fits its model.
        source_size: Number of source ids, `Vs`; `None` for features.
        target_size: Number of target ids, `V`.

    Raises:
        ValueError: If `shortlist` has other ids, the source consists of
            features, or the other output cannot be limited.
    """

    def __init__(
        self,
        output: AbstractOutput,
        shortlist: Shortlist,
        source_size: int | None,
        target_size: int,
    ):
        super().__init__(dtype=output.dtype_policy)
        _check_fit(output, shortlist, source_size, target_size)
        self.output_part = output
        self.shortlist = shortlist
        self.vocabulary_size = target_size
        self.attends, self.reads_words = output.attends, output.reads_words
        self.probabilities = output.probabilities

    def prepare(self, source):
        search, size = source.search, self.vocabulary_size
        if not all(hasattr(search, name) for name in ID_OPTIONS):
            raise ValueError(
                "`search` with a shortlist must have the attributes "
                f"{ID_OPTIONS}. Received: search={described(search)}. Write it "
                "as a subclass of AbstractSearch."
            )
        check_search_ids(search, size)
        special = search.start_id, search.end_id, *search.forbidden_ids
        least = 1 + max(special)
        ids = self.shortlist.ids(source.ids, least, size, source.prefix)
        ids = _cut(ids, source, size)
        places = ops.minimum(ids, size - 1)
        kernel, bias = self.output_part.rows(places)
        bias = ops.where(ids < size, bias, -math.inf)
        return _Listed(
            ids=places,
            kernel=ops.swapaxes(kernel, 1, 2),
            bias=ops.expand_dims(bias, 1),
            inner=self.output_part.prepare(source),
        )

    def ids(self, prepared):
        return prepared.ids

    def call(self, decoded, prepared, training=None):
        features = self.output_part.features(decoded, prepared.inner)
        features = ops.cast(features, prepared.kernel.dtype)
        # Not `ops.matmul`, which computes float64 in float32 on torch.
        return features @ prepared.kernel + prepared.bias, None


def _cut(ids, source, size):
    """Cut what no row uses, and leave as much as a search selects from.

    Half of a list are repeated words and padding. XLA needs a size that does
    not depend on words.
    """
    if source.fixed_shapes and isinstance(ids.shape[1], int):
        return ids
    names = ("beam_size", "top_k")
    needed = max(getattr(source.search, name, None) or 1 for name in names)
    ids = ops.pad(ids, [[0, 0], [0, needed]], constant_values=size)
    if source.fixed_shapes:
        return ids
    used = ops.sum(ops.cast(ids < size, "int32"), axis=1)
    return ids[:, : ops.max(used, initial=needed)]


def _check_fit(output, shortlist, source_size, target_size):
    """Raise an error unless a shortlist fits the model of an output."""
    said = output.refuse_list()
    if source_size is None:
        said = "source_vocabulary_size=None"
    if said is not None:
        raise ValueError(
            "`shortlist` needs a model that reads ids, copies none, and has "
            f"floats as weights. Received: {said}. Leave `shortlist` out."
        )
    rows, largest = shortlist.table.shape[0], shortlist.largest
    if rows != source_size or largest >= target_size:
        raise ValueError(
            "`shortlist` must have a row for each source id of the model, and "
            f"its target ids. Received: {rows} rows, target ids up to "
            f"{largest}, with source_vocabulary_size={source_size}, "
            f"target_vocabulary_size={target_size}. Train one: "
            "Shortlist.train(model, batches)."
        )


class PairCounts:
    """Sums the attention that each target id pays to each source id.

    Only pairs that occur are kept, at most 20 times as many as are asked for:
    beyond that, the least of each source id are forgotten.

    Args:
        source_size: Number of source ids, `Vs`.
        target_size: Number of target ids, `V`.
        candidates: How many of each source id will be asked for, `C`.
    """

    def __init__(self, source_size: int, target_size: int, candidates: int):
        self.source_size, self.target_size = source_size, target_size
        self.candidates = candidates
        self._pairs = np.zeros(0, "int64")  # sorted, each once
        self._sums = np.zeros(0)
        self._waiting, self._held = [], 0

    def add(self, source: np.ndarray, target: np.ndarray, weights: np.ndarray):
        """Add the attention of a batch. Id 0 is padding on both sides.

        Args:
            source: Ids `(B, Tv)`.
            target: Ids `(B, T)` of the words that are predicted.
            weights: `(B, T, Tv)`.
        """
        source, target = source[:, None, :], target[:, :, None]
        real = (source != 0) & (target != 0) & (weights > 0)
        pairs = source.astype("int64") * self.target_size + target
        self._waiting.append((pairs[real], weights[real].astype("float64")))
        self._held += np.count_nonzero(real)
        if self._held > HELD:
            self._merge()

    def _merge(self):
        parts = [(self._pairs, self._sums), *self._waiting]
        self._waiting, self._held = [], 0
        pairs = np.concatenate([pairs for pairs, _ in parts])
        sums = np.concatenate([sums for _, sums in parts])
        self._pairs, places = np.unique(pairs, return_inverse=True)
        self._sums = np.bincount(places, sums, len(self._pairs))
        if len(self._pairs) > ROOM * self.candidates * self.source_size:
            places, _ = self._ranked(ROOM * self.candidates // 2)
            places = np.sort(places)
            self._pairs, self._sums = self._pairs[places], self._sums[places]

    def _ranked(self, count, without=()):
        """Find the pairs of the largest sums of each source id.

        Returns:
            The places of the pairs, and the rank of each among those of its
            source id, from 0.
        """
        left = ~np.isin(self._pairs % self.target_size, without)
        (places,) = np.nonzero(left)
        sources = self._pairs[places] // self.target_size
        # In a tie the smaller target id comes first, as the pairs are sorted.
        order = np.lexsort((places, -self._sums[places], sources))
        sources = sources[order]
        ranks = np.arange(len(order)) - np.searchsorted(sources, sources)
        best = ranks < count
        return places[order[best]], ranks[best]

    def best(self, without: np.ndarray) -> np.ndarray:
        """Return the target ids with the largest sums of each source id.

        Args:
            without: Target ids `(F,)` that are left out.

        Returns:
            Int32 `(Vs, C)`, the largest first, then 0.
        """
        self._merge()
        table = np.zeros((self.source_size, self.candidates), "int32")
        places, ranks = self._ranked(self.candidates, without)
        pairs = self._pairs[places]
        table[pairs // self.target_size, ranks] = pairs % self.target_size
        return table
