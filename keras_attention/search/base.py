"""The base of all searches, their loop, and checks of their step function."""

import inspect
import math
import warnings
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

import keras
import numpy as np
from keras import tree

from keras_attention.backend import backend
from keras_attention.backend import ops
from keras_attention.checks import check_function
from keras_attention.checks import check_integer
from keras_attention.checks import check_list
from keras_attention.checks import check_shape
from keras_attention.checks import missing_method
from keras_attention.search.constraints import as_memory_mask
from keras_attention.search.constraints import as_prefix
from keras_attention.search.constraints import known_integer

BEAM = (
    "Add the axis of beams with `ops.expand_dims(x, 1)`. What all beams share, "
    "such as the memory, is not part of the state: capture it in the step "
    "function."
)
ID_OPTIONS = ("start_id", "end_id", "forbidden_ids")  # of every search
CONTRACT = (
    "A search calls `log_probs, state, weights = step(tokens, state)` with "
    "tokens (B, K); see AbstractSearch."
)
PLAIN = (bool, int, float, str, type(None))


class Generation(NamedTuple):
    """The result of a search: `N` hypotheses for each row, best first.

    Attributes:
        tokens: `(B, N, T)` int32, where `T` is the `max_length` of the search.
            Hypotheses do not contain the start token; 0 follows the end token.
        scores: `(B, N)` float32 or float64, by which the hypotheses are sorted.
        lengths: `(B, N)` int32, the number of tokens of each hypothesis,
            including the end token. If a row has fewer than `N` hypotheses, the
            remaining entries have the score `-inf` and the length 0.
        weights: `(B, N, T, Tv)`, the attention weights of each token, 0 after
            the last token; `None` if the step returned no weights.
        token_scores: `(B, N, T)`, the log probability of each token, as the
            step returned it; 0 after the last token. Without penalties, the
            score of a hypothesis is the sum of its `token_scores`.
    """

    tokens: Any
    scores: Any
    lengths: Any
    weights: Any = None
    token_scores: Any = None


class AbstractSearch:
    """Generates sequences from a step function, in one loop in the graph.

    A search needs only a step function of the model. It writes its results into
    tensors that have their final size from the beginning. Therefore, the same
    code runs eagerly, compiled, and exported. The loop stops as soon as no
    hypothesis can improve. The step function is called once before the loop, to
    determine the structure of its results, and then in the loop.

    A token can be forbidden by the options below, or by the model, with a log
    probability of `-inf`. A hypothesis that no token can extend is dropped. A
    row can lose all hypotheses in this way, because none satisfies the
    constraints or because the model returns only NaN. The row then has the
    score `-inf`, the length 0 and no tokens, and, outside of a graph, the
    search issues a warning.

    A subclass defines `call`, and is registered with
    `keras.saving.register_keras_serializable`. If it has further arguments, it
    also defines `__init__`. If an argument is not an attribute of the same
    name, it also defines `get_config`. You can build a search from the
    functions of `keras_attention.search`: `follow_path` for one hypothesis per
    row; `begin_beams`, `extend_beams` and `select_beams` for several.

    Args:
        max_length: Maximum length of a hypothesis, in tokens, including the end
            token. A hypothesis of this length may lack the end token. Defaults
            to `100`.
        min_length: Minimum length of a hypothesis, in tokens, including the end
            token, which is forbidden in shorter hypotheses. Defaults to `1`.
        start_id: Id of the start token. Defaults to `2`.
        end_id: Id of the end token. Defaults to `3`.
        no_repeat_ngram_size: Length of n-grams that may occur only once in a
            hypothesis; the start token is not counted. Defaults to `0`, which
            allows repetitions.
        forbidden_ids: Ids of tokens that are never generated, such as `[1]` for
            the unknown token. Defaults to `()`.

    Call arguments:
        step: A function `step(tokens, state)`. It takes the last tokens
            `(B, K)`, int32, of `K` beams a row, and returns

            - `log_probs (B, K, V)` in any float dtype; `-inf` is allowed,
            - the next state, with the structure, shapes and dtypes of `state`
              (only the first step may change dtypes),
            - the attention weights `(B, K, Tv)` in every step, or `None` in
              every step.

            Tensors that all beams share, such as the memory, are not part of
            the state: the function captures them. Under JAX, the function must
            not draw random numbers or assign variables.
        state: Any structure of tensors, `()` for none; it may contain `None`.
            All tensors have the batch on axis 0 and one beam on axis 1.
        batch_size: Number of rows, an integer or a scalar tensor.
        memory_mask: Boolean `(B, Tv)`, `True` at valid positions of the source,
            or `None`. Only the coverage penalty needs this mask.
        prefix: Integer ids `(B, P)` that each hypothesis of the row must begin
            with, or `None`. Shorter prefixes are padded with 0 on the right.
            The tokens of a prefix are scored like all other tokens. They may be
            tokens that the options above forbid. A hypothesis ends at an end
            token in the prefix, and at `max_length`. An id outside the model's
            vocabulary has probability 0.

    Returns:
        A `Generation`.

    Raises:
        ValueError: If an argument is not an integer, a length is less than 1,
            `min_length` exceeds `max_length`, or an id is negative. When
            called: if `step` is not callable or returns other shapes, an id is
            not below `V`, a tensor of `state` does not have one beam on axis 1,
            `prefix` does not have the shape `(B, P)`, or the shape of
            `memory_mask` does not match.
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
                "`min_length` must not exceed `max_length`. Received: "
                f"min_length={min_length}, max_length={max_length}. Increase "
                "`max_length`."
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
        """Search with checked arguments.

        Args:
            step: As in the call arguments. The results of the step function
                have been checked, and converted to tensors.
            state: A structure of tensors `(B, 1, ...)`.
            batch_size: As in the call.
            memory_mask: As in the call.
            prefix: Int32 tensor `(B, P)`, or `None`.

        Returns:
            A `Generation`, sorted by scores. Hypotheses with the score `-inf`
            are emptied afterwards.
        """
        raise missing_method(self.call)

    def program_key(self) -> tuple:
        """Return the key of the compiled program of this search.

        Searches with the same key share a program. The key consists of the
        class and of all attributes, except those in `varying` and random seed
        generators. A search with attributes other than numbers and strings does
        not share a program.
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
        """Return the attributes in `varying`, which a compiled program takes.

        The random seed is not among them, because it is in the state of its
        generator.
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
        """Create a search from the result of `get_config`."""
        return cls(**config)


def check_row_words(search: AbstractSearch, rows, **options):
    """Raise a `ValueError` unless `row_words` has a row for each source.

    Args:
        search: The search.
        rows: Number of sources, an integer or a scalar tensor.
        **options: Options that override those of the search.
    """
    rows = rows if isinstance(rows, int) else None
    for name in search.row_words:
        given = options.get(name, getattr(search, name))
        needs = f"`{name}` needs a row for each source"
        way_out = "Use a row of zeros for a source without required phrases."
        shape = tuple(given.shape)
        check_shape(needs, name, shape, (rows, *shape[1:]), way_out)


def keep_possible(found: Generation) -> Generation:
    """Empty the hypotheses whose score is `-inf` or NaN.

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
    """Warn about rows without a hypothesis, outside of graphs.

    Args:
        search: The search.
        scores: `(B, N)`, from `keep_possible`.
    """
    if backend.is_traced(scores) or 0 in scores.shape:
        return
    best = np.max(ops.convert_to_numpy(scores), axis=1)
    none = np.flatnonzero(np.isneginf(best))
    if none.size:
        warnings.warn(
            f"{type(search).__name__} found no hypothesis for {none.size} of "
            f"{len(best)} rows, the first of which is row {none[0]}. These "
            "rows are empty and have the score -inf. If the model returns NaN "
            "for them, check its weights and the source. Otherwise no "
            "hypothesis satisfies the constraints of the search: increase "
            "max_length or beam_size, or forbid and force fewer ids.",
            stacklevel=3,
        )


def _check_ids(name, value):
    return [check_integer(name, x, 0) for x in check_list(name, value, "ids")]


def check_state(state, batch_size):
    """Convert a state to tensors with `B` rows and one beam.

    Args:
        state: Any structure of arrays or tensors `(B, 1, ...)`. `None` in it
            stays `None`.
        batch_size: The number of rows `B`, an integer or a scalar tensor.

    Returns:
        The same structure of tensors.

    Raises:
        ValueError: If a tensor's shape, as far as it is known, is different.
    """
    rows = known_integer(batch_size)

    def convert(x):
        if x is None:
            return None
        x = ops.convert_to_tensor(x)
        needs = "`state` must contain tensors of shape (B, 1, ...)"
        wanted = (rows, 1, *x.shape[2:])
        check_shape(needs, "leaf", x.shape, wanted, BEAM)
        return x

    return tree.map_structure(convert, state)


def check_found(search, tokens, found) -> tuple:
    """Check the results of a step.

    In a graph, the check runs during tracing, and costs nothing later.

    Args:
        search: The `AbstractSearch` that called it.
        tokens: The tokens that the step was called with, `(B, K)`.
        found: The results of the step.

    Returns:
        Tensors: `log_probs (B, K, V)`, the next state and `weights (B, K,
        Tv)` or `None`.

    Raises:
        ValueError: If shapes, as far as they are known, do not match, or if an
            id of the search is not below `V`.
    """
    several = isinstance(found, tuple | list)
    if not several or len(found) != 3:
        said = f"one value of type {type(found).__name__}"
        said = f"{len(found)} values" if several else said
        raise ValueError(
            "`step` must return log_probs, state, weights; without attention, "
            f"weights are None. Received: {said}. {CONTRACT}"
        )
    log_probs, state, weights = found
    log_probs = _check_shape("log_probs", log_probs, tokens, "V")
    check_search_ids(search, log_probs.shape[-1])
    if weights is not None:
        weights = _check_shape("weights", weights, tokens, "Tv")
    return log_probs, state, weights


def _check_shape(name, x, tokens, last):
    x = ops.convert_to_tensor(x)
    rows, beams = tokens.shape
    needs = f"`step` must return {name} of shape (B, K, {last})"
    check_shape(needs, name, x.shape, (rows, beams, last), CONTRACT)
    return x


def check_search_ids(search, classes):
    """Raise a `ValueError` if ids of a search are outside the vocabulary.

    Args:
        search: An `AbstractSearch`.
        classes: Vocabulary size of the model, or `None` if it is unknown.
    """
    if classes is None:
        return
    for name in ID_OPTIONS:
        value, kind = getattr(search, name), type(search).__name__
        several = isinstance(value, list)
        if max(value if several else [value], default=0) >= classes:
            said = "ids" if several else "an id"
            raise ValueError(
                f"`{name}` must be {said} of the model, from 0 to "
                f"{classes - 1}. Received: {name}={value}. Pass the ids of the "
                f"model's tokenizer to the search: {kind}(..., {name}=...)."
            )


def loop_while(unfinished: Callable, body: Callable, carry, steps: int):
    """Apply `body` to a structure until it is finished, in one graph loop.

    A loop in a graph carries a list of tensors. Therefore only the tensors of
    the structure are carried; the structure itself, including each `None` in
    it, is rebuilt around them for `unfinished` and `body`.

    Args:
        unfinished: A function from the structure to a scalar boolean tensor.
        body: A function from the structure to the next one, with the same
            shapes and dtypes, and `None` in the same places.
        carry: The initial structure.
        steps: Maximum number of runs of `body`.

    Returns:
        The final structure.

    Raises:
        ValueError: If `body` returns more or fewer tensors than it took.
    """
    leaves = tree.flatten(carry)
    count = sum(x is not None for x in leaves)

    def pack(tensors):
        left = iter(tensors)
        every = [None if x is None else next(left) for x in leaves]
        return tree.pack_sequence_as(carry, every)

    def unpack(structure):
        tensors = [x for x in tree.flatten(structure) if x is not None]
        if len(tensors) != count:
            raise ValueError(
                "`step` must always return the same structure. Received: "
                f"{len(tensors)} tensors after {count} tensors in an earlier "
                "call. A result must be `None` either always or never."
            )
        return tuple(ops.convert_to_tensor(x) for x in tensors)

    tensors = unpack(carry)
    if backend.plain_loop == "python":  # in which `tree` takes most of the time
        carry, left = pack(tensors), int(steps)
        while unfinished(carry) and left > 0:
            found, left = body(carry), left - 1
            is_alike = _are_alike(found, carry)
            carry = found if is_alike else pack(unpack(found))
        return carry
    tensors = ops.while_loop(
        lambda *tensors: unfinished(pack(tensors)),
        lambda *tensors: unpack(body(pack(tensors))),
        tensors,
        maximum_iterations=steps,
    )
    return pack(tensors)


def _are_alike(x, y) -> bool:
    """Return whether `x` has tensors and `None` where `y` has them."""
    if isinstance(y, tuple | list | dict):
        if type(x) is not type(y) or len(x) != len(y):
            return False
        if isinstance(y, dict):
            return all(k in x and _are_alike(x[k], y[k]) for k in y)
        return all(map(_are_alike, x, y))
    return x is None if y is None else ops.is_tensor(x)


def write(buffer, position, value, length: int):
    """Write one step into a buffer with time on axis 2.

    Every position chooses between the buffer and the value, because all export
    formats support this. It rewrites the whole buffer, which costs little
    compared with a step over the vocabulary.

    Args:
        buffer: `(B, K, T, ...)`, or `None` for one of zeros.
        position: Where to write on axis 2, a scalar int32 tensor.
        value: `(B, K, ...)`.
        length: The size `T` of the buffer.

    Returns:
        The buffer with the step in it, `(B, K, T, ...)`.
    """
    return writer(position, length)(buffer, value)


def writer(position, length: int) -> Callable:
    """Return a function that writes one step into buffers, like `write`.

    Args:
        position: As in `write`.
        length: As in `write`.

    Returns:
        A function from `(buffer, value)` to the buffer.
    """
    positions = ops.arange(length, dtype="int32")
    here = ops.equal(positions, position)

    def put(buffer, value):
        value = ops.expand_dims(value, 2)  # (B, K, 1, ...)
        buffer = ops.zeros_like(value) if buffer is None else buffer
        rest = [1] * (len(value.shape) - 3)
        now = ops.reshape(here, (length, *rest)) if rest else here
        return ops.where(now, value, buffer)

    return put
