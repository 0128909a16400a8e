"""The base of all attention layers, which differ in their scores."""

import keras

from keras_attention.alignments import AbstractAlignment
from keras_attention.alignments import AbstractReading
from keras_attention.alignments import get_alignment
from keras_attention.attention.memory import Memory
from keras_attention.attention.memory import as_mask
from keras_attention.attention.memory import check_query
from keras_attention.attention.memory import check_sequence
from keras_attention.attention.memory import check_source
from keras_attention.attention.memory import real_positions
from keras_attention.attention.memory import visible_positions
from keras_attention.attention.sequences import attend_in_order
from keras_attention.attention.sequences import score_one_by_one
from keras_attention.backend import ops
from keras_attention.checks import check_built
from keras_attention.checks import check_choice
from keras_attention.checks import check_rate
from keras_attention.checks import missing_method
from keras_attention.checks import refuse_to_stream
from keras_attention.layers import AbstractConfigured
from keras_attention.layers import AbstractDenseLayer
from keras_attention.ops import cast
from keras_attention.ops import keep_real
from keras_attention.ops import mix
from keras_attention.ops import wide_dtype
from keras_attention.ops import widen
from keras_attention.ops.replicas import add_shared_loss
from keras_attention.ops.replicas import own_seed

BUILD = "Call it once, or `layer.build(query_shape, value_shape)`."
KEY_ALONE = (
    "Use a score of the query and one key, such as BahdanauAttention; a custom "
    "layer declares this with `score_margin = 0`."
)


class AbstractAttention(AbstractConfigured, AbstractDenseLayer):
    """Averages the values of a memory with weights that depend on a query.

    Formula:

        weights = alignment(score(query, keys))
        context = weights @ values

    A subclass defines `score`. If scores compare projections of query and keys,
    it also defines `project_query` and `project_keys`. If scores depend on
    earlier weights, the subclass sets `remembers = True` and defines
    `score(query, keys, history)`, `first_history(real)` and
    `next_history(history, weights)`. The last two methods return one tensor
    `(B, K, ...)`. A layer that computes its weights without scores passes
    `alignment=None` to the base class, and defines `weigh` and `first_state`.

    `score_margin` is the largest distance at which earlier weights can affect
    the score of a position. Set it to 0 if the score depends only on query and
    key, and to `None` if the score depends on the absolute position in the
    source. With a margin, a decoder with an `attention_window` scores only the
    positions that it needs. With a margin of 0, a stream can score the part of
    the source that has arrived.

    A decoder calls `prepare` once per source, so that keys are projected only
    once. It calls `draw_noise` once before its loop, and `step` at every step.
    In a beam search, all beams are parallel queries to the same memory.

    Args:
        alignment: How scores become weights: `"softmax"`, `"sparsemax"`,
            `"entmax15"`, an alignment such as `Monotonic()`, which is copied,
            or the config of an alignment. Defaults to `"softmax"`.
        dropout: Rate in `[0, 1)` at which attention weights are dropped in
            training; the remaining weights are scaled up. The layer returns the
            weights before dropout. Defaults to `0.0`.
        seed: Integer random seed for dropout and noise. Defaults to `None`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Call arguments:
        query: `(B, Tq, Dq)`.
        value: `(B, Tv, Dv)`.
        key: `(B, Tv, Dk)`. Defaults to `value`.
        query_mask: Boolean `(B, Tq)`, `True` at valid steps. Masked steps leave
            the state unchanged and are excluded from `auxiliary_loss`; the mask
            has no other effect.
        value_mask: Boolean `(B, Tv)`, `True` at valid positions. Keras fills it
            in when `value` carries a mask.
        attention_mask: Boolean that broadcasts to `(B, Tq, Tv)`, `True` where
            a query may attend to a position.
        return_attention_scores: Whether to return the attention weights as
            well. A layer with heads also accepts `"heads"`, which returns the
            weights of each head.
        training: Whether to apply dropout, and the noise of alignments such as
            `Monotonic`.
        use_causal_mask: Whether query `i` attends only to positions `j <= i`.

    Returns:
        context: `(B, Tq, Dv)`.
        weights: `(B, Tq, Tv)`, on request. With softmax, a row sums to 1, or to
            0 if every position is masked. With `"heads"`, the shape is `(B, H,
            Tq, Tv)`.

    Raises:
        ValueError: If `dropout` is not in `[0, 1)`, if `alignment` is unknown,
            or if shapes do not match. `prepare` and `step` also raise it if the
            layer is not built.
    """

    remembers = False  # whether scores depend on earlier weights
    compares_pairs = False  # whether `score` computes a (B, Tq, Tv, U) table
    head_count = None  # number of heads, if `weigh` returns (B, H, Tq, Tv)
    score_margin = None  # see above

    def __init__(
        self,
        alignment: str | dict | AbstractAlignment | None = "softmax",
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.alignment = self.aligner = None
        if alignment is not None:
            self.aligner = get_alignment(alignment)
            self.aligner.dtype_policy = self.dtype_policy
            named = isinstance(alignment, str)
            self.alignment = alignment if named else self.aligner
        self.dropout = check_rate("dropout", dropout)
        self.seed = seed
        if dropout or self.noisy:
            self.seed_generator = keras.random.SeedGenerator(seed)
        self.supports_masking = True

    @property
    def state_count(self) -> int:
        """Number of tensors that `initial_state` returns."""
        aligned = self.aligner.state_count if self.aligner else 0
        return int(self.remembers) + aligned

    @property
    def noisy(self) -> bool:
        """Whether `weigh` needs noise in training."""
        return self.aligner is not None and self.aligner.noisy

    def build(self, query_shape, value_shape, key_shape=None):
        if self.aligner is not None:
            self.aligner.build(query_shape, value_shape)

    def project_query(self, query):
        """Project queries before they are scored.

        Args:
            query: `(B, Tq, Dq)`.

        Returns:
            `(B, Tq, ...)`.
        """
        return query

    def project_keys(self, key):
        """Project keys, once per source.

        Args:
            key: `(B, Tv, Dk)`.

        Returns:
            `(B, Tv, ...)`.
        """
        return key

    def project_values(self, value):
        """Project values, once per source, to the input of `average`.

        Args:
            value: `(B, Tv, Dv)`, 0 at padding.

        Returns:
            `(B, Tv, D)`, 0 at padding.
        """
        return value

    def score(self, query, keys):
        """Score projected queries against projected keys.

        Args:
            query: `(B, Tq, ...)`, from `project_query`.
            keys: `(B, Tv, ...)`, from `project_keys`.

        Returns:
            Scores `(B, Tq, Tv)`.
        """
        raise missing_method(self.score)

    def first_history(self, real):
        """Return the history that is passed to `score` at the first step.

        Args:
            real: `(B, K, Tv)`, 1.0 at valid positions, 0.0 at padding.

        Returns:
            One tensor `(B, K, ...)`.
        """
        raise missing_method(self.first_history)

    def next_history(self, history, weights):
        """Return the history after a step.

        Args:
            history: The history before the step, `(B, K, ...)`.
            weights: Weights of the step, `(B, K, Tv)`.

        Returns:
            One tensor `(B, K, ...)`.
        """
        raise missing_method(self.next_history)

    def first_state(self, real) -> tuple:
        """Return the state before the first step.

        Args:
            real: `(B, K, Tv)`, 1.0 at valid positions, 0.0 at padding.

        Returns:
            Tuple of `state_count` tensors `(B, K, ...)`.
        """
        history = (self.first_history(real),) if self.remembers else ()
        return (*history, *self.aligner.first_state(real))

    def reach(self, memory, mask) -> tuple:
        """Return the keys to score and the mask of positions to attend to.

        Args:
            memory: A `Memory`.
            mask: Boolean that broadcasts to `(B, Tq, Tv)`, or `None`.

        Returns:
            The keys and a mask that broadcasts to `(B, Tq, Tv)`. By default,
            they are the keys of `memory` and the mask, unchanged.
        """
        return memory.keys, mask

    def weigh(
        self, query, memory, mask, state, noise, one_by_one: bool = False
    ) -> tuple:
        """Compute the weights of queries, in float32 or wider.

        Args:
            query: `(B, Tq, Dq)`.
            memory: A `Memory`.
            mask: Boolean that broadcasts to `(B, Tq, Tv)`, or `None`.
            state: Tuple of tensors `(B, Tq, ...)`.
            noise: `(B, Tq, Tv)`, or `None`.
            one_by_one: As in `step`; passed only to layers that set
                `compares_pairs`.

        Returns:
            Weights `(B, Tq, Tv)`, 0 where masked, and the next state. A layer
            with heads returns `(B, H, Tq, Tv)`.
        """
        count = int(self.remembers)
        history, rest = state[:count], state[count:]
        projected = self.project_query(query)
        keys, mask = self.reach(memory, mask)
        if one_by_one:
            scores = score_one_by_one(self, projected, keys)
        else:
            scores = widen(self.score(projected, keys, *history))
        check_sequence(self, "score", scores, "(B, Tq, Tv)")
        weights, rest = self.aligner.align_source(
            scores, mask, rest, noise, query, memory.mask
        )
        rest = self.aligner.observe(rest, query, weights, memory.values)
        history = [self.next_history(x, weights) for x in history]
        return weights, (*history, *rest)

    def average(self, weights, values):
        """Average values by weights.

        Args:
            weights: What `weigh` returned, after dropout.
            values: What `project_values` returned.

        Returns:
            Context `(B, Tq, Dv)`.
        """
        return mix(weights, values)

    def merge_heads(self, weights):
        """Average weights over heads, if there are any: `(B, Tq, Tv)`."""
        return weights

    def drop(self, weights, factors):
        """Apply dropout to weights.

        Args:
            weights: What `weigh` returned.
            factors: Dropout factors of one step, from `draw_noise`.

        Returns:
            Weights of the same shape.
        """
        return weights * factors

    def auxiliary_loss(self, weights, query_mask=None):
        """Compute the auxiliary loss of the weights.

        A call of the layer adds it with `add_loss`, and so does
        `AttentionDecoder`.

        Args:
            weights: Weights of all steps, `(B, Tq, Tv)`.
            query_mask: Boolean `(B, Tq)`, `True` at valid steps, or `None`.

        Returns:
            A scalar, or `None` if the layer has no such loss.
        """
        return None

    def reading(self) -> AbstractReading:
        """Return how to read a source that arrives in parts.

        Returns:
            The reading of the alignment. A layer that computes its weights
            without an alignment overrides this method.

        Raises:
            ValueError: If weights or scores depend on the end of the source.
        """
        self.check_scores_in_part()
        return self.aligner.reading()

    def check_scores_in_part(self):
        """Raise a `ValueError` if scores depend on positions not yet read.

        A score can be computed in a stream if it depends only on the query and
        on the key at its own position.
        """
        if self.remembers:
            reason = (
                "computes scores from its earlier weights on the whole source"
            )
        elif self.score_margin != 0:
            reason = "weights positions by their place in the whole source"
        else:
            return
        refuse_to_stream(type(self).__name__, reason, KEY_ALONE)

    def harden(self) -> list[str]:
        """Switch to modes that put all weight on one position, if any.

        Returns:
            Descriptions of the changes; an empty list if nothing changed.
        """
        return [] if self.aligner is None else self.aligner.harden()

    def prepare(self, value, key=None, value_mask=None) -> Memory:
        """Prepare a source for `step`: project keys and set padding to zeros.

        Args:
            value: `(B, Tv, Dv)`.
            key: `(B, Tv, Dk)`. Defaults to `value`.
            value_mask: Boolean `(B, Tv)`, `True` at valid positions, or `None`
                if there is no padding.

        Returns:
            A `Memory`: projected keys `(B, Tv, ...)`, values `(B, Tv, Dv)` and
            the mask `(B, Tv)` or `None`.

        Raises:
            ValueError: If the layer is not built, or shapes do not match.
        """
        check_built(self, "prepare", BUILD)
        check_source(self, value, key, value_mask)
        mask = as_mask(value_mask)
        value = keep_real(self._float(value), mask)
        key = value if key is None else keep_real(self._float(key), mask)
        keys = ops.cast(self.project_keys(key), self.compute_dtype)
        return Memory(keys, self.project_values(value), mask)

    def initial_state(self, memory, beams: int = 1) -> tuple:
        """Return the state before the first step.

        Args:
            memory: What `prepare` returned.
            beams: The number `K` of parallel queries. Defaults to `1`.

        Returns:
            Tuple of tensors `(B, K, ...)`, `()` if the layer has no state.
        """
        if not self.state_count:
            return ()
        dtype = wide_dtype(self.compute_dtype)
        return self.first_state(real_positions(Memory(*memory), beams, dtype))

    def draw_noise(self, memory, steps: int, beams: int = 1):
        """Draw dropout masks and the alignment's noise for all training steps.

        Args:
            memory: What `prepare` returned.
            steps: Number of steps, an integer or a scalar tensor.
            beams: The number `K` of parallel queries. Defaults to `1`.

        Returns:
            A tensor `(steps, B, K, ...)`, of which `step` takes one slice as
            its `noise`; `None` if nothing is random.
        """
        batch, words = ops.shape(memory[1])[:2]
        return self._draw_noise(self.aligner, (steps, batch, beams, words))

    def _draw_noise(self, aligner, shape):
        """Draw the random numbers of all steps, before the loop over time.

        Dropout masks and the noise of the alignment are concatenated on the
        last axis, so that a loop carries one tensor for each attention.

        Args:
            aligner: The alignment that needs noise if the layer is `noisy`.
            shape: `(steps, B, K, Tv)`.

        Returns:
            A tensor `(steps, B, K, Tv)`, or `(steps, B, K, 2 Tv)`; `None` if
            nothing is random.
        """
        drawn, dtype = [], self.compute_dtype
        if self.dropout:
            ones, seed = ops.ones(shape, dtype), own_seed(self.seed_generator)
            drawn.append(keras.random.dropout(ones, self.dropout, seed=seed))
        if self.noisy:
            seed = own_seed(self.seed_generator)
            drawn.append(aligner.draw_noise(shape, dtype, seed))
        return ops.concatenate(drawn, axis=-1) if drawn else None

    def _split_noise(self, noise) -> tuple:
        """Split one step of noise into that of dropout and of the alignment."""
        if noise is None or not self.noisy:
            return noise, None
        if not self.dropout:
            return None, noise
        return ops.split(noise, 2, axis=-1)

    def step(
        self,
        query,
        memory,
        state=(),
        noise=None,
        one_by_one: bool = False,
        attention_mask=None,
    ) -> tuple:
        """Attend for one step of a decoder.

        Args:
            query: `(B, K, Dq)`, `K` parallel queries of one source, such as
                the beams of a search.
            memory: What `prepare` returned.
            state: What `initial_state` or the previous step returned. Defaults
                to `()`.
            noise: The slice for this step of what `draw_noise` returned, or
                `None` for no dropout and no noise. Defaults to `None`.
            one_by_one: Whether to compute scores query by query if a tensor
                with the scores of all pairs of query and key would be large.
                This saves memory for many queries, but some export formats do
                not support it. Defaults to `False`.
            attention_mask: Boolean that broadcasts to `(B, K, Tv)`, `True`
                where a query may attend to a position. Defaults to `None`,
                which allows all positions.

        Returns:
            Context `(B, K, Dv)`, weights `(B, K, Tv)` and the next state.

        Raises:
            ValueError: If the layer is not built, or `query` does not have
                three axes.
        """
        check_built(self, "step", BUILD)
        check_sequence(self, "query", query, "(B, K, Dq)")
        keys, values, mask = Memory(*memory)
        memory = Memory(self._float(keys), self._float(values), as_mask(mask))
        visible = visible_positions(query, memory, attention_mask)
        context, weights, state = self._attend(
            self._float(query), memory, visible, state, noise, one_by_one
        )
        return context, self.merge_heads(weights), state

    def call(
        self,
        query,
        value,
        key=None,
        query_mask=None,
        value_mask=None,
        attention_mask=None,
        return_attention_scores: bool | str = False,
        training: bool | None = None,
        use_causal_mask: bool = False,
    ):
        self._check_form(return_attention_scores)
        memory = self.prepare(value, key, value_mask)
        check_query(self, query, value, query_mask, attention_mask)
        query = self._float(query)
        mask = visible_positions(query, memory, attention_mask, use_causal_mask)
        queries = ops.shape(query)[1]
        steps, beams = (queries, 1) if self.state_count else (1, queries)
        noise = self.draw_noise(memory, steps, beams) if training else None
        if self.state_count:
            given = query, memory, mask, self.initial_state(memory), noise
            size = self.compute_output_shape(query.shape, value.shape)[-1]
            context, weights = attend_in_order(
                self._attend, *given, size, self.head_count, as_mask(query_mask)
            )
        else:
            noise = None if noise is None else noise[0]
            context, weights, _ = self._attend(
                query, memory, mask, (), noise, training is not False
            )
        merged = self.merge_heads(weights)
        loss = self.auxiliary_loss(merged, query_mask)
        if loss is not None:
            add_shared_loss(self, loss)
        if return_attention_scores == "heads":
            return context, weights  # (B, H, Tq, Tv)
        return (context, merged) if return_attention_scores else context

    def _attend(
        self, query, memory, mask, state, noise, one_by_one: bool = False
    ):
        dropped, noise = self._split_noise(noise)
        options = {"one_by_one": one_by_one} if self.compares_pairs else {}
        weights, state = self.weigh(
            query, memory, mask, tuple(state), noise, **options
        )
        weights = cast(weights, self.compute_dtype)
        kept = weights if dropped is None else self.drop(weights, dropped)
        return self.average(kept, memory.values), weights, state

    def _copy(self, attention, name):
        """Copy an attention into this layer, which applies its dropout."""
        config = {**attention.get_config(), "dropout": 0.0, "seed": None}
        config |= {"name": name, "dtype": self.dtype_policy}
        return type(attention).from_config(config)

    def _check_form(self, form):
        forms = (False, True, *([] if self.head_count is None else ["heads"]))
        check_choice("return_attention_scores", form, forms)

    def _float(self, x):
        return cast(x, self.compute_dtype)

    def compute_output_shape(
        self, query_shape, value_shape, key_shape=None
    ) -> tuple:
        return (*query_shape[:-1], value_shape[-1])

    def compute_output_spec(
        self,
        query,
        value,
        key=None,
        query_mask=None,
        value_mask=None,
        attention_mask=None,
        return_attention_scores: bool | str = False,
        **kwargs,
    ):
        def spec(*shape):
            return keras.KerasTensor(shape, dtype=self.compute_dtype)

        self._check_form(return_attention_scores)
        check_sequence(self, "value", value, "(B, Tv, Dv)")
        check_query(self, query, value)
        context = spec(*self.compute_output_shape(query.shape, value.shape))
        heads = [self.head_count] if return_attention_scores == "heads" else []
        weights = spec(*query.shape[:1], *heads, query.shape[1], value.shape[1])
        return (context, weights) if return_attention_scores else context

    def get_config(self) -> dict:
        config = super().get_config()
        if self.alignment is None:
            del config["alignment"]
        return config
