"""Sampling: a text drawn at random, as likely as the model thinks it."""

import math
import numbers

import keras
from keras import ops

from keras_attention.search.base import AbstractSearch
from keras_attention.search.base import Generation
from keras_attention.search.base import whole_number
from keras_attention.search.drawing import draw_tokens
from keras_attention.search.path import follow_path


@keras.saving.register_keras_serializable(package="keras_attention")
class Sampling(AbstractSearch):
    """Draws every token from the model's distribution, or what is left of it.

    Formula:

        y_t ~ p(y | y_1 ... y_{t-1})^(1 / temperature), cut and normalized
        score = sum_t log p(y_t | y_1 ... y_{t-1})

    It is cut in this order: what the search forbids, then all but the `top_k`
    likeliest tokens, then all but the fewest of those that reach `top_p`
    together; the one that crosses it stays. The score is the model's own,
    whatever the temperature and the cuts.

    All random numbers are drawn before the loop, one a token. They come from
    a generator that goes on from call to call, so that two calls give two
    texts. Two searches with the same seed give the same texts call by call,
    if backend, batch size and compiler (XLA or none) are the same too.

    As in any Keras layer with dropout, under `jax.jit` the generator's state
    is carried by a `keras.StatelessScope`.

    Args:
        temperature: Above 1 evens out, below 1 sharpens. Near 0 it is
            `GreedySearch`. Defaults to `1.0`.
        top_k: How many of the likeliest tokens may be drawn, `None` for all.
            In a tie for the last place the smaller ids come first (on torch,
            any). Defaults to `None`.
        top_p: The probability that those which may be drawn must reach,
            `None` for all of it. Defaults to `None`.
        seed: Integer that makes the draws reproducible, `None` for others
            every time. Defaults to `None`.
        **kwargs: Arguments of all searches, as in `AbstractSearch`.

    Shapes:
        `tokens (B, 1, max_length)`, `scores (B, 1)`, `lengths (B, 1)` and
        `weights (B, 1, max_length, Tv)`; the rest as in `AbstractSearch`.
        The memory mask is not needed.

    Raises:
        ValueError: As in `AbstractSearch`; if `temperature` is not a positive
            number, `top_k` not a positive integer, or `top_p` not above 0 and
            at most 1.

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

    def __init__(
        self,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.temperature = _above_zero("temperature", temperature)
        self.top_k = None if top_k is None else whole_number("top_k", top_k, 1)
        self.top_p = None if top_p is None else _above_zero("top_p", top_p, 1)
        self.seed = None if seed is None else whole_number("seed", seed, 0)
        self.seed_generator = keras.random.SeedGenerator(self.seed)

    def __call__(
        self, step, state, batch_size, memory_mask=None, prefix=None
    ) -> Generation:
        shape = (batch_size, self.max_length)
        luck = keras.random.uniform(shape, seed=self.seed_generator)

        def choose(log_probs, position):
            here = ops.take(luck, position, axis=1)  # (B,)
            return draw_tokens(
                log_probs,
                ops.reshape(here, (-1, 1, 1)),
                self.temperature,
                self.top_k,
                self.top_p,
            )

        return follow_path(self, choose, step, state, batch_size, prefix)

    def get_config(self):
        return {
            "temperature": self.temperature,
            "top_k": self.top_k,
            "top_p": self.top_p,
            "seed": self.seed,
            **super().get_config(),
        }


def _above_zero(name, value, most=math.inf):
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not 0 < value <= most or value == math.inf:
        limit = "" if most == math.inf else f" of at most {most}"
        raise ValueError(
            f"`{name}` must be a positive number{limit}. Received: "
            f"{name}={value!r}"
        )
    return float(value)
