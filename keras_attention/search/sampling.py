"""Sampling: draws sequences at random from the model's distribution."""

import math
from collections.abc import Sequence

import keras

from keras_attention.backend import ops
from keras_attention.checks import check_integer
from keras_attention.checks import check_number
from keras_attention.checks import check_size
from keras_attention.ops.replicas import own_seed
from keras_attention.ops.rows import at_most
from keras_attention.ops.tokens import pick
from keras_attention.search.base import AbstractSearch
from keras_attention.search.base import Generation
from keras_attention.search.path import follow_path

LARGEST = 2**31 - 1


@keras.saving.register_keras_serializable(package="keras_attention")
class Sampling(AbstractSearch, varying=("temperature", "seed")):
    """Draws every token from the model's distribution.

    Formula:

        y_t ~ p(y | y_1 ... y_{t-1})^(1 / temperature), truncated and normalized
        score = sum_t log p(y_t | y_1 ... y_{t-1})

    The distribution is truncated in three steps. First, forbidden tokens are
    removed. Then only the `top_k` most likely tokens are kept. Of these, only
    the smallest set of tokens is kept whose probabilities sum to at least
    `top_p`. The score is computed from the original distribution, regardless of
    temperature and truncation.

    All random numbers are drawn before the loop, one for each token. The random
    generator keeps its state between calls, so that two calls give different
    samples. Two searches with the same seed give the same sequence of samples
    if backend, batch size and compiler (XLA or none) are also the same. A
    search that is loaded, copied or unpickled starts from the seed again.

    `Seq2Seq.generate` updates the state of the generator for you. If you call a
    search in a function that you compile with `jax.jit`, pass the state in a
    `keras.StatelessScope`, as for any Keras layer with dropout.

    Args:
        temperature: Values above 1 make probabilities more equal; values below
            1 make likely tokens more likely. Near 0, sampling equals
            `GreedySearch`. Defaults to `1.0`.
        top_k: Number of most likely tokens to draw from, or `None` for all. If
            tokens have equal probabilities, those with smaller ids are kept; on
            torch, any of them. Defaults to `None`.
        top_p: Minimum total probability of the tokens to draw from (nucleus
            sampling), or `None` for all tokens. Defaults to `None`.
        seed: Integer random seed, which makes samples reproducible. With
            `None`, every search draws different samples. Defaults to `None`.
        max_length: Maximum length of a hypothesis, in tokens, including the end
            token. Defaults to `100`.
        min_length: Minimum length of a hypothesis. Defaults to `1`.
        start_id: Id of the start token. Defaults to `2`.
        end_id: Id of the end token. Defaults to `3`.
        no_repeat_ngram_size: Length of n-grams that may occur only once in a
            hypothesis. Defaults to `0`, which allows repetitions.
        forbidden_ids: Ids of tokens that are never generated. Defaults to `()`.

    Shapes:
        `tokens (B, 1, max_length)`, `scores (B, 1)`, `lengths (B, 1)` and
        `weights (B, 1, max_length, Tv)`; the rest as in `AbstractSearch`.
        The memory mask is not needed.

    Raises:
        ValueError: As in `AbstractSearch`; if `temperature` is not a positive
            number, if `top_k` is not a positive integer, or if `top_p` is not
            above 0 and at most 1.

    Example:

    >>> table = np.log([[.1, .2, .3, .4], [.1, .1, .1, .7],
    ...                 [.1, .6, .2, .1], [.1, .2, .3, .4]])
    >>> def step(tokens, state):
    ...     return ops.take(table, tokens, axis=0), state, None
    >>> search = Sampling(top_k=2, seed=0, max_length=5)
    >>> found = search(step, state=(), batch_size=4)
    >>> np.array(found.tokens).shape
    (4, 1, 5)

    Reference:
        [Fan et al., 2018](https://arxiv.org/abs/1805.04833) (`top_k`);
        [Holtzman et al., 2020](https://arxiv.org/abs/1904.09751) (`top_p`).
    """

    reads_weights = False

    def __init__(
        self,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
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
        self.temperature = check_number("temperature", temperature, above=0)
        self.top_k = check_size("top_k", top_k)
        self.top_p, self.seed = top_p, seed
        if top_p is not None:
            self.top_p = check_number("top_p", top_p, above=0, most=1)
        if seed is not None:
            self.seed = check_integer("seed", seed, 0, math.inf)
        self.seed_generator = keras.random.SeedGenerator(self.seed)

    def call(
        self,
        step,
        state,
        batch_size,
        memory_mask=None,
        prefix=None,
        temperature=None,
    ) -> Generation:
        if temperature is None:
            temperature = self.temperature
        # So `max_length` is no argument: what is drawn depends on it.
        shape = (batch_size, self.max_length)
        luck = keras.random.uniform(shape, seed=own_seed(self.seed_generator))

        def draw(log_probs, position):
            here = ops.take(luck, position, axis=1)  # (B,)
            return draw_tokens(
                log_probs,
                ops.reshape(here, (-1, 1, 1)),
                temperature,
                self.top_k,
                self.top_p,
            )

        return follow_path(self, draw, step, state, batch_size, prefix)

    def __reduce__(self):
        return type(self).from_config, (self.get_config(),)


def draw_tokens(
    log_probs,
    luck,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
):
    """Draw tokens from a distribution, which may be truncated.

    Args:
        log_probs: `(B, K, V)`, in float32 or wider.
        luck: `(B, K, 1)`, random numbers, uniform from 0 to below 1.
        temperature: As in `Sampling`.
        top_k: As in `Sampling`.
        top_p: As in `Sampling`.

    Returns:
        Tokens `(B, K)`, int32.
    """
    ids = None
    if top_k is not None or top_p is not None:
        count = ops.shape(log_probs)[-1]
        if top_k is not None:
            count = at_most(top_k, log_probs)
        log_probs, ids = ops.top_k(log_probs, count)
    # The likeliest at 0, so that a small temperature overflows nothing.
    scores = log_probs - ops.top_k(log_probs, 1)[0]
    temperature = ops.convert_to_tensor(temperature, scores.dtype)
    parts = ops.exp(scores / temperature)  # not normalized
    sums = ops.cast(ops.cumsum(parts, axis=-1), parts.dtype)
    real = ops.greater(parts, 0)
    if top_p is not None and top_p < 1:
        before = sums - parts
        real = ops.logical_and(real, before < top_p * sums[..., -1:])
    count = ops.shape(log_probs)[-1]
    places = ops.arange(count, dtype="int32")
    # `initial`, since a batch may be empty.
    options = {"axis": -1, "keepdims": True, "initial": 0}
    last = ops.max(ops.where(real, places, 0), **options)
    total = ops.max(ops.where(real, sums, 0.0), **options)
    # A rounded product may reach the total, and a rounded sum may rise where
    # 0 is added: only a real token is taken, the last if no sum is above.
    above = ops.greater(sums, ops.cast(luck, parts.dtype) * total)
    above = ops.logical_and(real, above)
    drawn = ops.where(above, places, last)
    drawn = ops.min(drawn, axis=-1, initial=LARGEST)
    return drawn if ids is None else ops.cast(pick(ids, drawn), "int32")
