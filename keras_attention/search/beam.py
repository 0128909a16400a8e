"""Beam search: keeps the best hypotheses at every step."""

import math
from collections.abc import Sequence

import keras

from keras_attention.backend import ops
from keras_attention.checks import LARGEST as LARGEST_SIZE
from keras_attention.checks import check_integer
from keras_attention.checks import check_number
from keras_attention.ops.rows import take_rows
from keras_attention.search.base import AbstractSearch
from keras_attention.search.base import Generation
from keras_attention.search.base import loop_while
from keras_attention.search.hypotheses import Beams
from keras_attention.search.hypotheses import begin_beams
from keras_attention.search.hypotheses import extend_beams
from keras_attention.search.hypotheses import length_penalties
from keras_attention.search.hypotheses import select_beams

LARGEST = 1e30  # of a penalty, with which scores stay finite in float32


@keras.saving.register_keras_serializable(package="keras_attention")
class BeamSearch(AbstractSearch, varying=("max_length",)):
    """Searches for the best hypotheses with a beam of fixed width.

    Formula:

        score = sum_t log p(y_t | y_1 ... y_{t-1}) / ((5 + n) / 6)^a
                + b sum_i log(min(sum_t w_ti, 1))

    Here `n` is the number of tokens, including the end token, `w_ti` is the
    weight of source position `i` at token `t`, `a` is the length penalty, and
    `b` is the coverage penalty. At each step, the search extends every
    hypothesis by every token, and keeps the `beam_size` extensions with the
    highest scores. A finished hypothesis stays in the beam until `beam_size`
    other hypotheses have higher scores. Hypotheses of length `max_length`
    without an end token are ranked like finished hypotheses.

    With one beam, this search equals `GreedySearch`. With as many beams as
    there are possible sequences, it is an exhaustive search. The search stops
    when no unfinished hypothesis can become one of the best `n_best`.
    Therefore, to stop early never changes the result. With a length penalty,
    the search stops later, because longer hypotheses can still gain.

    Without penalties, the most likely hypotheses tend to be short. Values of
    `a` from 0.6 to 1 are usual; with a `b` of 0.2, fewer source words are left
    untranslated.

    If extensions have equal scores, the search prefers the extension of the
    hypothesis with the higher rank, and then the token with the smaller id. On
    torch, the order of equal scores is not defined.

    Args:
        beam_size: Beam width `K`, the number of hypotheses to keep. It may
            exceed the vocabulary size.
        n_best: Number of hypotheses to return, at most `beam_size`. Defaults to
            `1`.
        length_penalty: The exponent `a`; a negative value prefers short
            hypotheses. Defaults to `0.0`.
        coverage_penalty: The factor `b`. At positions that were never attended
            to, the logarithm is `log 1e-37`. Defaults to `0.0`.
        max_length: Maximum length of a hypothesis, in tokens, including the end
            token. Defaults to `100`.
        min_length: Minimum length of a hypothesis. Defaults to `1`.
        start_id: Id of the start token. Defaults to `2`.
        end_id: Id of the end token. Defaults to `3`.
        no_repeat_ngram_size: Length of n-grams that may occur only once in a
            hypothesis. Defaults to `0`, which allows repetitions.
        forbidden_ids: Ids of tokens that are never generated. Defaults to `()`.

    Shapes:
        `tokens (B, n_best, max_length)`, `scores (B, n_best)`,
        `lengths (B, n_best)` and `weights (B, n_best, max_length, Tv)`; the
        rest as in `AbstractSearch`. The first call of `step` gets one
        hypothesis for each source, and all later calls get `beam_size`.

    Raises:
        ValueError: As in `AbstractSearch`; if `n_best` exceeds `beam_size`, if
            a penalty is not finite or so large that scores overflow, or if
            `coverage_penalty` is negative. When called: if the coverage penalty
            is not 0 and the step returns no weights.

    Example:

    >>> table = np.log([[.1, .2, .3, .4], [.1, .1, .1, .7],
    ...                 [.5, .4, .05, .05], [.3, .3, .3, .1]])
    >>> def step(tokens, state):  # after 2 come 0 and 1, after 1 the end, 3
    ...     return ops.take(table, tokens, axis=0), state, None
    >>> search = BeamSearch(3, n_best=2, max_length=5)
    >>> found = search(step, state=(), batch_size=1)
    >>> np.array(found.tokens).tolist()
    [[[1, 3, 0, 0, 0], [0, 3, 0, 0, 0]]]

    Reference:
        [Wu et al., 2016](https://arxiv.org/abs/1609.08144), equation 14.
    """

    def __init__(
        self,
        beam_size: int,
        n_best: int = 1,
        length_penalty: float = 0.0,
        coverage_penalty: float = 0.0,
        *,
        max_length: int = 100,
        min_length: int = 1,
        start_id: int = 2,
        end_id: int = 3,
        no_repeat_ngram_size: int = 0,
        forbidden_ids: Sequence[int] = (),
    ):
        limits = max_length, min_length, start_id, end_id
        super().__init__(*limits, no_repeat_ngram_size, forbidden_ids)
        # Buffers hold that many tokens for each row.
        most = LARGEST_SIZE // self.max_length
        self.beam_size = check_integer("beam_size", beam_size, most=most)
        self.n_best = check_integer("n_best", n_best)
        self.length_penalty = check_number("length_penalty", length_penalty)
        self.coverage_penalty = check_number(
            "coverage_penalty", coverage_penalty, least=0, most=LARGEST
        )
        power, longest = self.length_penalty, self.max_length
        if abs(power) * math.log((5 + longest) / 6) > math.log(LARGEST):
            raise ValueError(
                "`length_penalty` must keep ((5 + max_length) / 6) ** "
                "length_penalty between 1e-30 and 1e30. Received: "
                f"length_penalty={power}, max_length={longest}. Usual values "
                "are 0.6 to 1."
            )
        if self.n_best > self.beam_size:
            raise ValueError(
                "`n_best` must not exceed `beam_size`. Received: "
                f"n_best={n_best}, beam_size={beam_size}"
            )

    @property
    def reads_weights(self) -> bool:
        """Whether there is a coverage penalty, which needs weights."""
        return self.coverage_penalty != 0

    def call(
        self,
        step,
        state,
        batch_size,
        memory_mask=None,
        prefix=None,
        max_length=None,
    ) -> Generation:
        longest = self.max_length if max_length is None else max_length

        def grow(beams, found):
            return self._grow(beams, found, memory_mask, prefix)

        beams, found = begin_beams(self, step, state, batch_size)
        if not (self.length_penalty or self.coverage_penalty):
            beams = beams._replace(sums=None)
        beams = loop_while(
            lambda beams: may_improve(self, beams),
            lambda beams: grow(beams, step(beams.words, beams.state)),
            grow(beams, found),
            longest - 1,
        )
        texts = beams.texts()
        return Generation(
            *[None if x is None else x[:, : self.n_best] for x in texts]
        )

    def _grow(self, beams, found, memory_mask, prefix):
        """Extend every beam by every token, and keep the best."""
        penalties = self.length_penalty, self.coverage_penalty
        candidates = extend_beams(
            self, beams, found, memory_mask, prefix, *penalties
        )
        count = self.beam_size * candidates.ids.shape[-1]
        scores = ops.reshape(candidates.scores, (-1, count))
        scores, best = ops.top_k(scores, self.beam_size)
        best = ops.cast(best, "int32")
        return select_beams(self, beams, found, candidates, best, scores)


def may_improve(search: BeamSearch, beams: Beams):
    """Compute whether an unfinished beam can still enter the best `n_best`.

    Sums of log probabilities never grow, coverage is at best complete, and the
    length penalty is at most that of the longest hypothesis. This bounds the
    score of an unfinished hypothesis.

    Args:
        search: The `BeamSearch` whose options apply.
        beams: The `Beams` so far.

    Returns:
        A scalar boolean tensor.
    """
    if beams.sums is None:  # ordered by what can only decrease
        return ops.any(beams.alive[:, : search.n_best])
    bounds = beams.sums
    if search.length_penalty:
        _, limits = length_penalties(search.length_penalty, search.max_length)
        limits = ops.convert_to_tensor(limits, bounds.dtype)
        bounds = bounds / take_rows(limits, beams.position)
    if search.length_penalty < 0:
        # Longer texts score less, so an unfinished one may be first that
        # cannot improve. It goes on, lest it be returned without an end.
        bounds = ops.maximum(bounds, beams.scores)
    ended = ops.where(beams.alive, -math.inf, beams.scores)
    worst = ops.top_k(ended, search.n_best)[0][:, -1:]  # of the best
    return ops.any(ops.logical_and(beams.alive, bounds >= worst))
