"""What all searches share: their limits, their ids, and how they are called."""

import inspect
import math
import warnings
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

import keras
import numpy as np
from keras import ops
from keras import tree

from keras_attention.backend import backend
from keras_attention.checks import check_function
from keras_attention.checks import check_integer
from keras_attention.checks import check_list
from keras_attention.checks import check_shape
from keras_attention.checks import missing_method
from keras_attention.search.constraints import as_memory_mask
from keras_attention.search.constraints import as_prefix
from keras_attention.search.step import CONTRACT
from keras_attention.search.step import check_found
from keras_attention.search.step import check_state

PLAIN = (bool, int, float, str, type(None))


class Generation(NamedTuple):
    """What a search found: `N` texts for each row, the best one first.

    Attributes:
        tokens: `(B, N, T)` int32, `T` the longest text allowed; without the
            start token, with the end token, then 0.
        scores: `(B, N)` float32 or float64, by which the texts are sorted.
        lengths: `(B, N)` int32, the tokens of each text, its end included.
            Where there is no further text, the score is `-inf` and the
            length 0.
        weights: `(B, N, T, Tv)`, the attention weights of every token and 0
            after the last, or `None` where the step returned none.
        token_scores: `(B, N, T)`, the log probability of every token, as the
            step gave it, and 0 after the last. Without penalties they add up
            to the score.
    """

    tokens: Any
    scores: Any
    lengths: Any
    weights: Any = None
    token_scores: Any = None


class AbstractSearch:
    """Turns a step of a model into texts, with the whole loop in the graph.

    A search depends only on a step function. It writes into buffers of their
    final size and stops as soon as nothing can improve, so that the same code
    runs eagerly, compiled, and exported. The step is called once before the
    loop, to learn what it returns, and then in it.

    A token may be forbidden from two sides: by the options below, and by the
    model, with a log probability of `-inf`. Where no token at all may come
    next, the text so far does not exist; a row without any text has the score
    `-inf`, the length 0 and no tokens, and a warning says so outside of a
    graph. That is so where no text obeys the constraints, or where the model
    gives only NaN.

    A subclass writes `call`; one with arguments of its own also writes
    `__init__`, and `get_config` if one is no attribute of the same name, and
    is registered with `keras.saving.register_keras_serializable`. The
    building blocks are the functions of `keras_attention.search`:
    `follow_path` where a row has one text at a time; `begin_beams`,
    `extend_beams` and `select_beams` where it has several.

    Args:
        max_length: Longest text, in tokens, the end token included. A text
            that reaches it is returned without an end. Defaults to `100`.
        min_length: Shortest text, counted likewise: before it, the end token
            is never taken. Defaults to `1`.
        start_id: The token to begin with. Defaults to `2`.
        end_id: The token that ends a text. Defaults to `3`.
        no_repeat_ngram_size: No sequence of so many tokens comes twice in a
            text; the start token is not counted. Defaults to `0`, off.
        forbidden_ids: Tokens that are never taken, such as `[1]` for the
            unknown one. Defaults to `()`.

    Call arguments:
        step: A function `step(tokens, state)`. It takes the last tokens
            `(B, K)`, int32, of `K` beams a row, and returns

            - `log_probs (B, K, V)` in any float dtype; `-inf` is allowed,
            - the next state, with the structure, shapes and dtypes of the
              state before (the first step may still change dtypes),
            - `weights (B, K, Tv)` or `None`, the same of the two every time.

            What the beams share, such as the memory, it captures. Under JAX
            it may not draw random numbers or assign variables.
        state: Any structure of tensors, `()` for none; `None` in it stays
            `None`. Leaves have the batch on axis 0 and the beam on axis 1,
            with one beam.
        batch_size: Number of rows, an integer or a scalar tensor.
        memory_mask: Boolean `(B, Tv)`, `True` at real positions of what
            `weights` attend to, or `None`. Only coverage needs it.
        prefix: Integer ids `(B, P)` that each text of the row begins with,
            or `None`. Rows that force fewer tokens have 0 on the right. They
            are scored like any other, and come even where the options above
            forbid them; an end token among them ends the text, and so does
            `max_length`. An id that the model does not know has no
            probability.

    Returns:
        A `Generation`.

    Raises:
        ValueError: If an argument is not a whole number, a length is less
            than 1, `min_length` exceeds `max_length`, or an id is negative.
            When called: if `step` is not callable or returns other shapes, an
            id is not below `V`, a leaf of `state` has not one beam on axis 1,
            `prefix` is not `B` rows of ids, or `memory_mask` does not fit.
    """

    # Whether it needs the weights of a step, even if nobody asks for them.
    reads_weights: bool = True
    # Options that `call` takes as arguments too, which then are tensors: one
    # compiled program serves all searches that differ in nothing else.
    varying: tuple[str, ...] = ()
    # Of these, ids `(B, ...)` that only their own row asks for, 0 for none.
    row_words: tuple[str, ...] = ()

    def __init_subclass__(cls, varying: tuple[str, ...] = (), **kwargs):
        # Not inherited: a subclass may use them where no tensor can be.
        super().__init_subclass__(**kwargs)
        cls.varying = varying

    def __init__(
        self,
        max_length: int = 100,
        min_length: int = 1,
        start_id: int = 2,
        end_id: int = 3,
        no_repeat_ngram_size: int = 0,
        forbidden_ids: Sequence[int] = (),
    ):
        self.max_length = check_integer("max_length", max_length)
        self.min_length = check_integer("min_length", min_length)
        self.start_id = check_integer("start_id", start_id, 0)
        self.end_id = check_integer("end_id", end_id, 0)
        self.no_repeat_ngram_size = check_integer(
            "no_repeat_ngram_size", no_repeat_ngram_size, 0
        )
        self.forbidden_ids = _check_ids("forbidden_ids", forbidden_ids)
        if self.min_length > self.max_length:
            raise ValueError(
                "`min_length` cannot exceed `max_length`. Received: min_length="
                f"{min_length}, max_length={max_length}. Raise `max_length`."
            )

    def __call__(
        self,
        step: Callable,
        state,
        batch_size,
        memory_mask=None,
        prefix=None,
        **varying,
    ) -> Generation:
        check_function("step", step, "a function", CONTRACT)

        def checked_step(tokens, state):
            return check_found(self, tokens, step(tokens, state))

        check_row_words(self, batch_size, **varying)
        found = keep_possible(
            self.call(
                checked_step,
                check_state(state, batch_size),
                batch_size,
                as_memory_mask(memory_mask, batch_size),
                as_prefix(prefix, batch_size),
                **varying,
            )
        )
        warn_of_none(self, found.scores)
        return found

    def call(
        self,
        step: Callable,
        state,
        batch_size,
        memory_mask=None,
        prefix=None,
    ) -> Generation:
        """Search, with arguments that are checked.

        Args:
            step: As in the call, but it returns tensors and checks what the
                user's step returns.
            state: A structure of tensors `(B, 1, ...)`.
            batch_size: As in the call.
            memory_mask: As in the call.
            prefix: Int32 tensor `(B, P)`, or `None`.

        Returns:
            A `Generation`, sorted by scores. Whatever has the score `-inf`
            is emptied afterwards.
        """
        raise missing_method(self.call)

    def program_key(self) -> tuple:
        """Return what is fixed in a compiled program of this search.

        Searches with the same key share a program. They are of one class, and
        have the same attributes, but for those in `varying` and generators of
        seeds. One with other values than numbers and text shares none.
        """
        fixed = {
            name: value
            for name, value in self.__getstate__().items()
            if name not in self.varying
            and not isinstance(value, keras.random.SeedGenerator)
        }
        plain = all(isinstance(x, PLAIN) for x in tree.flatten(fixed))
        return type(self), repr(fixed), None if plain else id(self)

    def program_arguments(self) -> dict[str, np.ndarray]:
        """Return what a compiled program gives to `call`: what is `varying`.

        The seed is not among them. It is in the state of its generator.
        """
        options = {x: getattr(self, x) for x in self.varying if x != "seed"}
        return {
            name: np.asarray(x, "int32" if isinstance(x, int) else None)
            for name, x in options.items()
        }

    def get_config(self) -> dict:
        names = []
        for kind in type(self).__mro__:
            if issubclass(kind, AbstractSearch):
                names += inspect.signature(kind.__init__).parameters
        return {x: getattr(self, x) for x in names if hasattr(self, x)}

    @classmethod
    def from_config(cls, config: dict) -> "AbstractSearch":
        """Make a search from what `get_config` returned."""
        return cls(**config)


def check_row_words(search: AbstractSearch, rows, **options):
    """Raise a `ValueError` unless `row_words` have a row for each source.

    Args:
        search: The search.
        rows: Number of sources, an integer or a scalar tensor.
        **options: Those that take the place of the search's own.
    """
    rows = rows if isinstance(rows, int) else None
    for name in search.row_words:
        given = options.get(name, getattr(search, name))
        needs = f"`{name}` needs a row for each source"
        way_out = "Give a row of zeros to a source that asks for nothing."
        shape = tuple(given.shape)
        check_shape(needs, name, shape, (rows, *shape[1:]), way_out)


def keep_possible(found: Generation) -> Generation:
    """Empty the texts whose score is `-inf`, or NaN: they do not exist.

    Args:
        found: A `Generation`.

    Returns:
        A `Generation` of the same shapes.
    """
    exists = ops.greater(found.scores, -math.inf)  # NaN is not

    def kept(x):
        if x is None:
            return None
        shape = (*ops.shape(exists), *[1] * (len(x.shape) - 2))
        return ops.where(ops.reshape(exists, shape), x, ops.zeros((), x.dtype))

    scores = ops.where(exists, found.scores, -math.inf)
    return Generation(*map(kept, found))._replace(scores=scores)


def warn_of_none(search, scores):
    """Warn of rows for which a search found no text, outside of graphs.

    Args:
        search: The search.
        scores: `(B, N)`, as `keep_possible` leaves them.
    """
    if backend.is_traced(scores) or 0 in scores.shape:
        return
    best = np.max(ops.convert_to_numpy(scores), axis=1)
    none = np.flatnonzero(np.isneginf(best))
    if none.size:
        warnings.warn(
            f"{type(search).__name__} finds no text for {none.size} of "
            f"{len(best)} rows: they are empty, and their scores -inf. The "
            f"first is row {none[0]}. Either the model gives NaN there, so "
            "look at its weights and at its source; or no text obeys what "
            "the search was given: raise max_length or beam_size, or forbid "
            "and force fewer ids.",
            stacklevel=3,
        )


def _check_ids(name, value):
    return [check_integer(name, x, 0) for x in check_list(name, value, "ids")]
