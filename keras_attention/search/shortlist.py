"""A lexical shortlist: the few target words that a source can be written by."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import numpy as np
from keras import ops

from keras_attention.checks import check_integer
from keras_attention.files import check_archive
from keras_attention.files import recover
from keras_attention.files import replaced_file
from keras_attention.ops import fast_path
from keras_attention.ops.rows import take_rows
from keras_attention.search.pair_counts import PairCounts

LARGEST = 2**31 - 1
MULTIPLE = 8  # of it are lengths while training, for few compilations
NAMES = ("table", "always")


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
        self.table = _check_ids("table", table, "(Vs, C)")
        self.always = _check_ids("always", always, "(F,)")
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
            model: A trained `Seq2Seq` that attends.
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
        _check_model(model)
        sizes = model.source_vocabulary_size, model.target_vocabulary_size
        counts = PairCounts(*sizes, candidates)
        frequency = np.zeros(sizes[1], "int64")
        attend = fast_path("compiled", _uncompiled)(
            lambda source, target: sum(model.attend(source, target)),
            model.variables,
            [],
            False,
        )
        for (source, before), after, *_ in batches:
            source, before, after = map(_widened, (source, before, after))
            _check_known("source", source, sizes[0])
            _check_known("target", after, sizes[1])
            weights = ops.convert_to_numpy(attend(source, before))
            _check_positions(weights, source)
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
        try:
            with np.load(file, allow_pickle=False) as content:
                return cls(*(content[name] for name in NAMES))
        except Exception as error:  # files of others raise any
            raise ValueError(
                "Shortlist.load needs a file that `save` wrote. Received: "
                f"{file}, which cannot be used: {type(error).__name__}: {error}"
            ) from error


def _check_ids(name, value, shape):
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


def _check_model(model):
    """Raise an error unless a model has ids and attention on both sides."""
    said = None
    if not model.decoder.cell.attentions:
        said = "attention=None"
    elif model.source_vocabulary_size is None:
        said = "source_vocabulary_size=None"
    elif model.copying:
        said = "copying=True"
    if said is not None:
        raise ValueError(
            "Shortlist.train needs a model that reads ids, attends to them "
            f"and copies none. Received: {said}. Make a table by other means, "
            "such as a word aligner, and give it to Shortlist(table, always)."
        )


def _check_positions(weights, source):
    if weights.shape[-1] != source.shape[1]:
        raise ValueError(
            "Shortlist.train needs an encoder that keeps the length. "
            f"Received: weights of {weights.shape[-1]} positions for sources "
            f"of {source.shape[1]} ids. Make a table by other means, such as "
            "a word aligner, and give it to Shortlist(table, always)."
        )


def _uncompiled(function, *_):
    return function


def _check_known(side, ids, size):
    if ids.size and not 0 <= ids.min() <= ids.max() < size:
        raise ValueError(
            f"Shortlist.train needs {side} ids from 0 to {size - 1}. Received: "
            f"ids from {ids.min()} to {ids.max()}. Take batches by the "
            "tokenizers that belong to the model."
        )


def _widened(ids):
    """Pad ids `(B, T)` to few lengths, as NumPy array."""
    ids = ops.convert_to_numpy(ids)
    return np.pad(ids, [[0, 0], [0, -ids.shape[1] % MULTIPLE]])
