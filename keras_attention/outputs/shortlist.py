"""A lexical shortlist: the target ids that may translate a source."""

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from typing import NamedTuple
from typing import NoReturn
from typing import Self

import numpy as np

from keras_attention.backend import backend
from keras_attention.backend import ops
from keras_attention.checks import check_ids
from keras_attention.checks import check_integer
from keras_attention.checks import described
from keras_attention.files import check_archive
from keras_attention.files import reading
from keras_attention.files import recover
from keras_attention.files import replaced_file
from keras_attention.ops.rows import take_rows
from keras_attention.outputs.base import AbstractOutput
from keras_attention.search.base import ID_OPTIONS
from keras_attention.search.base import check_search_ids

LARGEST = 2**31 - 1
HELD = 2**22  # pairs that wait to be summed
ROOM = 20  # times the pairs that are asked for are kept meanwhile
MULTIPLE = 8  # of it are lengths while training, for few compilations
NAMES = ("table", "always")
SIDES = "source", "target"
TOKENIZERS = "Use batches from the tokenizers of the model."


class Shortlist:
    """Limits a search to target tokens that may translate the source.

    Formula:

        list(x) = always + table[x_1] + ... + table[x_Tv]
        p(y | ...) = softmax of the logits of the ids in list(x)

    With a large vocabulary, a step spends most of its time on the product with
    all vocabulary entries and on the softmax over them. With a shortlist, it
    computes both for a few hundred entries only. Each source of a batch has its
    own list, so that its translation does not depend on the rest of the batch.

    Pass the shortlist to `Seq2Seq.generate`, or to `Translator`, which also
    saves and exports it. Every list contains the start and end tokens, the
    tokens of a prefix, and all ids from 0 to the largest id in the search's
    options. Therefore, keep the ids in `forbidden_ids` small, such as `[1]`.

    A search stores a tensor `(B, S, D)`, where `D` is the size of the decoder's
    outputs, and `S`, at most `V`, is the length of the longest list. Shortlists
    are meant for sentences: the list of a source with a thousand words contains
    most of the vocabulary, which saves no time.

    Args:
        table: Integers `(Vs, C)`: for each source id, the target ids that may
            translate it, padded with 0. Row 0, for padding, is not used.
        always: Integers `(F,)`: target ids that are allowed for every source.

    Attributes:
        table: Int32 array `(Vs, C)`.
        always: Int32 array `(F,)`.
        largest: The largest target id in `table` and `always`.

    Raises:
        ValueError: If an argument has a different shape, or contains negative
            numbers or values other than integers.

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
        """Create a shortlist from the attention of a trained model.

        Formula:

            count[s, y] = sum of w_ti over all t, i with y_t = y and x_i = s

        Here `w_ti` is the attention weight of source position `i` at target
        position `t`, averaged over several attention layers. For each source
        id, the table contains the `candidates` target ids with the largest
        counts. (To divide the counts by their sum, which gives `p(y | s)`,
        would not change this order.) Ids in `always` are not counted among the
        candidates.

        Args:
            model: A trained model with attention.
            batches: Batches as `fit` takes them, `((source, target[:, :-1]),
                target[:, 1:])`, such as one epoch of the training data.
            candidates: Number of target ids for each source id, `C`. Defaults
                to `30`.
            always: Number of most frequent target ids that are always allowed,
                `F`. Defaults to `100`.

        Returns:
            A `Shortlist`.

        Raises:
            ValueError: If the model has no attention, reads features, copies
                tokens, or has an encoder that changes the length; if there is
                no batch; or if a batch contains an id outside the vocabulary.
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
        attend = backend.compiled(
            lambda *pair: sum(model.attend(*pair) or _refuse("attention=None")),
            *(model.variables, (), model.uses_xla),
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
                    f"{source.shape[1]} ids, from an encoder that changes the "
                    "length"
                )
            counts.add(source, after, weights)
            frequency += np.bincount(after[after != 0], minlength=sizes[1])
        if not frequency.any():
            raise ValueError(
                "Shortlist.train needs batches with tokens. Received: "
                f"batches={batches!r}, which contains none. An iterator can be "
                "read only once: pass a new one."
            )
        common = np.argsort(-frequency, kind="stable")[:always]
        common = common[frequency[common] > 0]
        return cls(counts.best(common), common)

    def ids(self, source, least: int, size: int, prefix=None):
        """List the target ids that are allowed in each row.

        Args:
            source: Ids `(B, Tv)`.
            least: All ids below this number are in every list, so that their
                indices in the list are the ids themselves.
            size: Number of target ids, `V`.
            prefix: Ids `(B, P)` that are added to the list of their row if they
                are below `V`; or `None`. Defaults to `None`.

        Returns:
            Int32 `(B, S)`: in each row, unique ids in ascending order, padded
            with `V`. `S` is the smaller of `least + F + Tv C + P` and `V`.
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
        """Save to a `*.npz` file, atomically.

        Args:
            file: Path to the file. An existing file is replaced.

        Raises:
            ValueError: If the name does not end with `.npz`.
        """
        with replaced_file(file, ".npz") as draft:
            np.savez(draft, table=self.table, always=self.always)

    @classmethod
    def load(cls, file: str | os.PathLike) -> Self:
        """Load a shortlist that was saved with `save`.

        Args:
            file: Path to the file.

        Returns:
            The shortlist.

        Raises:
            ValueError: If the file is missing or damaged. The message names
                it.
        """
        file = Path(file)
        recover(file)
        check_archive(file)
        with reading(
            file, "Shortlist.load needs a file that was saved with `save`."
        ):
            with np.load(file, allow_pickle=False) as content:
                return cls(*(content[name] for name in NAMES))


def _refuse(received) -> NoReturn:
    raise ValueError(
        "Shortlist.train needs a model that reads ids, attends to each of them "
        f"and does not copy. Received: {received}. Create a table with a word "
        "aligner, and pass it to Shortlist(table, always)."
    )


def _widened(ids):
    """Pad ids `(B, T)` to one of few lengths, as a NumPy array."""
    ids = ops.convert_to_numpy(ids)
    return np.pad(ids, [[0, 0], [0, -ids.shape[1] % MULTIPLE]])


def _as_ids(name, value, shape):
    """Copy ids to int32, or raise an error."""
    ids = np.asarray(value)
    axes = shape.count(",") + 1 - shape.endswith(",)")
    if ids.ndim != axes:
        said = f"{name}.shape={ids.shape}"
    elif axes == 2 and not ids.size:
        said = f"{name}.shape={ids.shape}, which is empty"
    elif ids.size and ids.dtype.kind not in "iu":
        said = f"{name}.dtype={ids.dtype}"
    elif ids.size and not 0 <= ids.min() <= ids.max() <= LARGEST:
        said = f"{name} from {ids.min()} to {ids.max()}"
    else:
        return np.array(ids, "int32")
    raise ValueError(
        f"`{name}` of a Shortlist must be ids {shape}, non-negative integers. "
        f"Received: {said}. Shortlist.train creates a shortlist."
    )


class _Listed(NamedTuple):
    ids: Any  # (B, S) int32, ascending, below V
    kernel: Any  # (B, D, S)
    bias: Any  # (B, 1, S), -inf behind the end of a list
    inner: Any  # what the other output has prepared


class ShortlistOutput(AbstractOutput):
    """Scores only the ids of a shortlist, with rows of another output.

    Scores `(B, K, S)` are for the ids `(B, S)` of each row. Ids up to the
    largest id in the search's options are in every list, so that their indices
    in the list are the ids themselves.

    Args:
        output: The other output.
        shortlist: A `Shortlist` that matches the model.
        source_size: Number of source ids, `Vs`; `None` for features.
        target_size: Number of target ids, `V`.

    Raises:
        ValueError: If `shortlist` has different ids, if the source consists of
            features, or if the other output cannot be limited.
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
                f"{ID_OPTIONS}. Received: search={described(search)}. Define "
                "it as a subclass of AbstractSearch."
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
    """Remove unused columns, but keep as many as a search selects from.

    Half of a list consists of repeated ids and padding. XLA needs a size that
    does not depend on the ids.
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
    """Raise an error unless a shortlist matches the model of an output."""
    said = output.refuse_list()
    if source_size is None:
        said = "source_vocabulary_size=None"
    if said is not None:
        raise ValueError(
            "`shortlist` needs a model that reads ids, does not copy, and has "
            f"float weights. Received: {said}. Omit `shortlist`."
        )
    rows, largest = shortlist.table.shape[0], shortlist.largest
    if rows != source_size or largest >= target_size:
        raise ValueError(
            "`shortlist` must have a row for each source id of the model, and "
            f"only target ids of the model. Received: {rows} rows, target ids "
            f"up to {largest}, with source_vocabulary_size={source_size}, "
            f"target_vocabulary_size={target_size}. Train one: "
            "Shortlist.train(model, batches)."
        )


class PairCounts:
    """Sums the attention that each target id pays to each source id.

    Only pairs that occur are kept, at most 20 times as many as requested;
    beyond that, the smallest sums of each source id are dropped.

    Args:
        source_size: Number of source ids, `Vs`.
        target_size: Number of target ids, `V`.
        candidates: Number of target ids `C` that will be requested for each
            source id.
    """

    def __init__(self, source_size: int, target_size: int, candidates: int):
        self.source_size, self.target_size = source_size, target_size
        self.candidates = candidates
        self._pairs = np.zeros(0, "int64")  # sorted, each once
        self._sums = np.zeros(0)
        self._waiting = []

    def add(self, source: np.ndarray, target: np.ndarray, weights: np.ndarray):
        """Add the attention of a batch. Id 0 is padding on both sides.

        Args:
            source: Ids `(B, Tv)`.
            target: Ids `(B, T)` of the predicted tokens.
            weights: `(B, T, Tv)`.
        """
        source, target = source[:, None, :], target[:, :, None]
        real = (source != 0) & (target != 0) & (weights > 0)
        pairs = source.astype("int64") * self.target_size + target
        self._waiting.append((pairs[real], weights[real].astype("float64")))
        if sum(len(sums) for _, sums in self._waiting) > HELD:
            self._merge()

    def _merge(self):
        parts = [(self._pairs, self._sums), *self._waiting]
        self._waiting = []
        pairs = np.concatenate([pairs for pairs, _ in parts])
        sums = np.concatenate([sums for _, sums in parts])
        self._pairs, places = np.unique(pairs, return_inverse=True)
        self._sums = np.bincount(places, sums, len(self._pairs))
        if len(self._pairs) > ROOM * self.candidates * self.source_size:
            places, _ = self._ranked(ROOM * self.candidates // 2)
            places = np.sort(places)
            self._pairs, self._sums = self._pairs[places], self._sums[places]

    def _ranked(self, count, without=()):
        """Return the pairs with the largest sums for each source id.

        Returns:
            The indices of the pairs, and the rank of each within its source id,
            from 0.
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
        """Return the target ids with the largest sums for each source id.

        Args:
            without: Target ids `(F,)` to exclude.

        Returns:
            Int32 `(Vs, C)`, largest first, padded with 0.
        """
        self._merge()
        table = np.zeros((self.source_size, self.candidates), "int32")
        places, ranks = self._ranked(self.candidates, without)
        pairs = self._pairs[places]
        table[pairs // self.target_size, ranks] = pairs % self.target_size
        return table
