"""Beam search for hypotheses that contain given phrases."""

from typing import Any
from typing import NamedTuple

import keras
import numpy as np

from keras_attention.backend import backend
from keras_attention.backend import ops
from keras_attention.checks import check_object
from keras_attention.search.base import AbstractSearch
from keras_attention.search.base import Generation
from keras_attention.search.base import loop_while
from keras_attention.search.beam import BeamSearch
from keras_attention.search.beam import may_improve
from keras_attention.search.hypotheses import Candidates
from keras_attention.search.hypotheses import begin_beams
from keras_attention.search.hypotheses import extend_beams
from keras_attention.search.hypotheses import select_beams
from keras_attention.search.hypotheses import take_beams

NEVER = -float("inf")


@keras.saving.register_keras_serializable(package="keras_attention")
class RequiredPhrases(AbstractSearch, varying=("max_length", "phrases")):
    """Searches for the best hypotheses that contain required phrases.

    This is lexically constrained decoding with dynamic beam allocation. For
    every hypothesis, the search counts how many tokens of the phrases it
    contains; the tokens of an unfinished phrase at its end count, too. At each
    step, the search divides the beams evenly among these counts. In this way,
    it keeps hypotheses with few tokens of the phrases as well as hypotheses
    with many. It also extends each hypothesis by the next tokens of its
    phrases. A hypothesis can end only when it contains all phrases. Phrases may
    overlap.

    Use more beams than there are tokens in the phrases of a row. With as many
    beams as there are possible sequences, the search is exhaustive. If no
    hypothesis within `max_length` contains all phrases, the score is `-inf`.

    Args:
        search: A `BeamSearch`, which sets the options. Greedy search and
            sampling are not supported, because they cannot go back to include a
            phrase.
        phrases: Integers `(B, C, L)`: for each row, `C` phrases of up to `L`
            ids, padded with 0 on the right. A phrase of zeros is ignored. If
            you use a `Shortlist`, the tokens of the phrases are added to the
            list of their row.

    Shapes:
        As in `BeamSearch`.

    Raises:
        ValueError: If `search` is not a `BeamSearch`; if `phrases` has another
            shape; or, outside of a graph, if `phrases` contains the start or
            the end id. When called: if `phrases` does not have a row for each
            source.

    Example:

    >>> table = np.log([[.1, .2, .3, .4], [.1, .1, .1, .7],
    ...                 [.5, .4, .05, .05], [.3, .3, .3, .1]])
    >>> def step(tokens, state):
    ...     return ops.take(table, tokens, axis=0), state, None
    >>> search = RequiredPhrases(BeamSearch(4, max_length=5), [[[1, 1]]])
    >>> found = search(step, state=(), batch_size=1)
    >>> np.array(found.tokens).tolist()
    [[[1, 1, 3, 0, 0]]]

    Reference:
        [Post and Vilar, 2018](https://arxiv.org/abs/1804.06609).
    """

    row_words = ("phrases",)

    def __init__(self, search: BeamSearch, phrases):
        way_out = "Required phrases need a beam search: BeamSearch(10)."
        check_object("search", search, BeamSearch, way_out)
        for name, value in search.get_config().items():
            setattr(self, name, value)  # so it is a beam search to its parts
        self.reads_weights = search.reads_weights
        if not backend.is_traced(phrases):
            phrases = self._checked(phrases)
        self.phrases = phrases

    def _checked(self, phrases):
        ids = np.asarray(ops.convert_to_numpy(phrases))
        special = np.isin(ids, [self.start_id, self.end_id]).any()
        if ids.ndim != 3 or (ids.size and ids.dtype.kind not in "iu"):
            said = f"phrases of shape {ids.shape} and dtype {ids.dtype}"
        elif special:
            said = f"phrases with {self.start_id} or {self.end_id} in them"
        elif (ids < 0).any() or (ids[..., 1:] * (ids[..., :-1] == 0)).any():
            said = "phrases with negative ids, or with 0 before an id"
        else:
            return ids.astype("int32")
        raise ValueError(
            "`phrases` must be ids (B, C, L) without start and end ids, padded "
            f"with 0 on the right. Received: {said}. Example: [[[5, 6], [7, "
            "0]]]."
        )

    def call(
        self,
        step,
        state,
        batch_size,
        memory_mask=None,
        prefix=None,
        max_length=None,
        phrases=None,
    ) -> Generation:
        longest = self.max_length if max_length is None else max_length
        phrases = self.phrases if phrases is None else phrases
        needs = _Needs.of(ops.cast(ops.convert_to_tensor(phrases), "int32"))

        def grow(beams, begun, found):
            progress = needs.progress(begun)
            candidates = self._extend(
                beams, progress, found, needs, memory_mask, prefix
            )
            begun = needs.after(begun, beams.alive, candidates.ids)
            progress = needs.progress(begun)  # (B, K, M, C)
            left = ops.subtract(longest, beams.position) - 1
            scores = ops.where(
                needs.missing(progress) <= left, candidates.scores, NEVER
            )
            best = _share(scores, ops.sum(progress, axis=-1), needs, self)
            chosen = candidates._replace(scores=scores)
            beams = select_beams(self, beams, found, chosen, best)
            rows, every, choices, *rest = ops.shape(begun)
            begun = ops.reshape(begun, (rows, every * choices, *rest))
            return beams, take_beams(begun, best)

        beams, found = begin_beams(self, step, state, batch_size)
        shape = batch_size, self.beam_size, *ops.shape(phrases)[1:]
        beams, begun = loop_while(
            lambda carry: may_improve(self, carry[0]),
            lambda carry: grow(*carry, step(carry[0].words, carry[0].state)),
            grow(beams, ops.zeros(shape, "bool"), found),
            longest - 1,
        )
        missing = needs.missing(needs.progress(begun))
        scores = ops.where(missing == 0, beams.scores, NEVER)
        _, order = ops.top_k(scores, self.n_best)
        texts = beams._replace(scores=scores).texts()
        order = ops.cast(order, "int32")
        return Generation(
            *[None if x is None else take_beams(x, order) for x in texts]
        )

    def _extend(self, beams, progress, found, needs, memory_mask, prefix):
        """Extend by the next tokens of the phrases, and by the best others.

        No token is in both groups. A hypothesis that lacks a phrase does not
        end.
        """
        log_probs, *rest = found
        classes = ops.arange(ops.shape(log_probs)[-1], dtype="int32")
        wanted = ops.expand_dims(needs.next_tokens(progress), -1)
        is_wanted = ops.any(ops.equal(wanted, classes), axis=2)  # (B, K, V)
        lacks = ops.expand_dims(needs.missing(progress) > 0, -1)
        ends = ops.logical_and(lacks, ops.equal(classes, self.end_id))
        log_probs = ops.where(ends, NEVER, log_probs)
        given = memory_mask, prefix, self.length_penalty, self.coverage_penalty
        one, other = (
            extend_beams(
                self,
                beams,
                (ops.where(left_out, NEVER, log_probs), *rest),
                *given,
            )
            for left_out in (is_wanted, ops.logical_not(is_wanted))
        )
        # A text that has ended is its own only candidate, and only once.
        scores = ops.where(beams.alive[..., None], other.scores, NEVER)
        pairs = zip(one[:3], (other.ids, other.sums, scores), strict=True)
        joined = [ops.concatenate(pair, axis=-1) for pair in pairs]
        return Candidates(*joined, one.coverage)

    def get_config(self) -> dict:
        names = BeamSearch(1).get_config()
        search = BeamSearch(**{name: getattr(self, name) for name in names})
        phrases = ops.convert_to_numpy(self.phrases).tolist()
        serialize = keras.saving.serialize_keras_object
        return {"search": serialize(search), "phrases": phrases}

    @classmethod
    def from_config(cls, config: dict) -> "RequiredPhrases":
        search = keras.saving.deserialize_keras_object(config["search"])
        return cls(search, np.array(config["phrases"], "int32"))


class _Needs(NamedTuple):
    """The phrases of each row, and the progress of hypotheses on them.

    The progress of a hypothesis is `begun (B, K, C, L)`: whether it ends with
    the first `l + 1` tokens of a phrase or, at the last token of the phrase,
    whether it contains the phrase.

    Attributes:
        phrases: Int32 `(B, C, L)`, with -1 after their ends.
        lengths: `(B, C)`, the number of tokens of each.
        lasts: Boolean `(B, C, L)`, `True` at the last token of each.
    """

    phrases: Any
    lengths: Any
    lasts: Any

    @classmethod
    def of(cls, phrases):
        real = ops.not_equal(phrases, 0)
        lengths = ops.sum(ops.cast(real, "int32"), axis=-1)
        counts = ops.arange(1, ops.shape(phrases)[2] + 1, dtype="int32")
        lasts = ops.equal(counts, lengths[..., None])
        return cls(ops.where(real, phrases, -1), lengths, lasts)

    def after(self, begun, alive, tokens):
        """Return the progress `(B, K, M, C, L)` after each of the tokens."""
        before = ops.ones_like(begun[..., :1]), begun[..., :-1]
        before = ops.concatenate(before, axis=-1)
        phrases = self.phrases[:, None, None]  # (B, 1, 1, C, L)
        same = ops.equal(phrases, tokens[..., None, None])
        after = ops.logical_and(before[:, :, None], same)
        found = ops.logical_and(begun, self.lasts[:, None])
        after = ops.logical_or(after, found[:, :, None])
        return ops.where(alive[..., None, None, None], after, begun[:, :, None])

    def progress(self, begun):
        """Return the number of tokens of each phrase, `(B, K, ..., C)`."""
        counts = ops.arange(1, ops.shape(begun)[-1] + 1, dtype="int32")
        return ops.max(ops.where(begun, counts, 0), axis=-1, initial=0)

    def next_tokens(self, progress):
        """Return the next token `(B, K, C)` of each phrase; -1 for none.

        Of unfinished phrases, only those with the most tokens continue;
        otherwise a hypothesis could begin phrases forever without finishing
        one.
        """
        places = ops.arange(ops.shape(self.phrases)[2], dtype="int32")
        here = ops.equal(progress[..., None], places)  # (B, K, C, L)
        tokens = ops.where(here, self.phrases[:, None], 0)
        tokens = ops.sum(tokens, axis=-1)
        is_open = progress < self.lengths[:, None]
        most = ops.where(is_open, progress, -1)
        most = ops.equal(
            most, ops.max(most, axis=-1, keepdims=True, initial=-1)
        )
        return ops.where(ops.logical_and(is_open, most), tokens, -1)

    def missing(self, progress):
        """Return the minimum number of missing tokens, `(B, K, ...)`."""
        axes = [1] * (len(progress.shape) - 2)
        rows, count = ops.shape(self.lengths)
        lengths = ops.reshape(self.lengths, (rows, *axes, count))
        return ops.max(lengths - progress, axis=-1, initial=0)


def _share(scores, banks, needs, search):
    """Divide the beams among banks, by the rank within each bank.

    Each bank receives its best candidate before any bank receives its second.
    Candidates of the same rank are ordered by their number of phrase tokens,
    largest first.

    Args:
        scores: `(B, K, M)`.
        banks: `(B, K, M)`, the number of phrase tokens of each.
        needs: A `_Needs`.
        search: A search with a `beam_size`.

    Returns:
        The indices of the candidates, `(B, K)`.
    """
    rows, count = ops.shape(scores)[0], scores.shape[1] * scores.shape[2]
    scores = ops.reshape(scores, (rows, count))
    banks = ops.reshape(banks, (rows, count))
    scores, order = ops.top_k(scores, count)
    order = ops.cast(order, "int32")
    banks = take_beams(banks, order)
    size = 1 + ops.shape(needs.phrases)[1] * ops.shape(needs.phrases)[2]
    inside = ops.equal(banks[..., None], ops.arange(size, dtype="int32"))
    ranks = ops.cumsum(ops.cast(inside, "int32"), axis=1)
    ranks = ops.sum(ops.where(inside, ranks, 0), axis=-1)
    ranks = ops.where(ops.equal(scores, NEVER), count + 1, ranks)
    _, first = ops.top_k(banks - ranks * size, search.beam_size)
    return take_beams(order, ops.cast(first, "int32"))
