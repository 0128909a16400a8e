"""Exact hard attention, marginalized over all alignments."""

import math
from typing import Any
from typing import NamedTuple

import keras

from keras_attention.attention import AbstractAttention
from keras_attention.attention.sequences import score_one_by_one
from keras_attention.backend import backend
from keras_attention.backend import ops
from keras_attention.checks import check_choice
from keras_attention.checks import check_integer
from keras_attention.checks import check_object
from keras_attention.layers import AbstractConfigured
from keras_attention.ops import hoist
from keras_attention.ops import masked_loop
from keras_attention.ops import product
from keras_attention.ops import wide_dtype
from keras_attention.ops.alignments import log_mixture
from keras_attention.ops.alignments import log_sum
from keras_attention.ops.alignments import log_transitions
from keras_attention.ops.alignments import offsets_between
from keras_attention.ops.numerics import MASKED
from keras_attention.ops.numerics import tanh
from keras_attention.ops.positions import first_true
from keras_attention.ops.products import plain_product
from keras_attention.ops.rows import take_rows
from keras_attention.ops.tokens import block_bounds
from keras_attention.ops.tokens import count_blocks
from keras_attention.ops.tokens import pick
from keras_attention.outputs.base import AbstractOutput
from keras_attention.outputs.base import Decoded
from keras_attention.outputs.base import Source

FARTHEST = 9  # moves by more positions share its bias
BLOCKS = 4  # of rows, for a large vocabulary
ATTENTION = "Try LuongGeneral() or BahdanauAttention(64)."


class _Prepared(NamedTuple):
    """A source, prepared for all steps.

    Attributes:
        keys: Keys projected by `attention`, `(B, Tv, ...)`.
        memory: The projected memory, `(B, Tv, units)`.
        real: 1.0 at valid positions, `(B, 1, Tv)`.
        offsets: Offsets added to scores, `(B, N, Tv)`; `N` is `Tv`, or 1 if
            scores do not depend on the previous position.
        first: Log probabilities of the position before the first token,
            `(B, 1, N)`.
    """

    keys: Any
    memory: Any
    real: Any
    offsets: Any
    first: Any


@keras.saving.register_keras_serializable(package="keras_attention")
class HardAttention(AbstractConfigured, AbstractOutput):
    """Emits each token from one source position (exact hard attention).

    Formula:

        p(y_t | a_t = j) = softmax(tanh([s_t; h_j] W) U + b)
        order 0: p(a_t = j) = softmax_j(e_tj)
        order 1: p(a_t = j | a_{t-1} = i) = softmax_j(e_tj + d_{j-i})
        p(y_t | y_<t) = sum_j p(a_t = j | y_<t) p(y_t | a_t = j)

    Here `s_t` is the decoder's output, `h_j` the memory at position `j`, and
    `e_tj` the score of an attention layer. The source position `a_t` of a token
    is a latent variable. With order 0, positions are independent; with order 1,
    they form a hidden Markov model, where `a_0` is the first valid position.
    With `monotonic`, positions never move back. The distribution of `a_t` is
    updated after each token (forward algorithm). Therefore the log
    probabilities of the tokens add up to the log probability of the sequence,
    marginalized exactly over all alignments, and you can train with
    `SequenceCrossentropy`. The weights are `p(a_t = j | y_<t)`.

    The decoder needs no attention. If every position of a source is masked, the
    source is read as a zero vector, and its weights are 0.

    A training step scores all tokens of the vocabulary from each source
    position. This is `Tv` times the work of a dense output layer with `units`
    inputs. For the gradient, it computes these scores a second time. In all, a
    training step computes four matrix products of `B T Tv` rows, `V` columns
    and the inner dimension `units`. With a vocabulary of thousands of entries,
    these products take nearly all of the time.

    To save memory, the loop over the `T` steps does not store the scores of a
    step, but recomputes them for the gradient. It therefore needs memory for
    `B Tv (units + V)` numbers, for `B Tv^2` more with order 1, and for the log
    probabilities of all steps. A step of a search scores all tokens from each
    source position for every beam.

    Args:
        attention: An attention layer that computes the scores. It must have the
            alignment `"softmax"`, no dropout, and scores that do not depend on
            earlier weights.
        units: Size of the hidden layer that scores tokens.
        order: Number of previous positions that the position of a token depends
            on, 0 or 1. Defaults to `0`.
        monotonic: Whether positions never move back. Requires order 1. Defaults
            to `False`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Raises:
        ValueError: If `attention` does not meet these requirements, `units` is
            not positive, `order` is neither 0 nor 1, or `monotonic` is set with
            order 0.

    Example:

    >>> cell = AttentionDecoderCell(GRUCell(16), None)
    >>> model = Seq2Seq(
    ...     source_vocabulary_size=20,
    ...     target_vocabulary_size=30,
    ...     embedding_dim=4,
    ...     encoder=RecurrentEncoder(8, cell="gru"),
    ...     bridge=StateBridge(),
    ...     decoder=AttentionDecoder(cell),
    ...     output=HardAttention(LuongGeneral(), 8, order=1, monotonic=True),
    ... )
    >>> source, target = np.array([[2, 7, 8, 3]]), np.array([[2, 9, 5]])
    >>> log_probs = ops.convert_to_numpy(model((source, target)))
    >>> float(np.exp(log_probs).sum(axis=-1)[0, 0].round(4))
    1.0

    Reference:
        Order 0: [Wu et al., 2018](https://arxiv.org/abs/1808.10024).
        Order 1 and monotonic: [Wu and Cotterell, 2019](
        https://arxiv.org/abs/1905.06319).
    """

    aligns = True
    needs_end = (
        "compares each position with all later positions",
        "Use attention in the decoder instead: BahdanauAttention(64, "
        "alignment=Monotonic(mode='hard')).",
    )

    def __init__(
        self,
        attention: AbstractAttention,
        units: int,
        order: int = 0,
        monotonic: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        _check_attention(attention)
        check_choice("order", order, (0, 1))
        if monotonic and not order:
            raise ValueError(
                "`monotonic` needs positions that depend on the previous one. "
                f"Received: {monotonic=}, {order=}. Set order=1."
            )
        self.attention = attention
        self.units = check_integer("units", units)
        self.order = int(order)
        self.monotonic = bool(monotonic)
        self.state_count = 2 * self.order

    def build(self, outputs_shape, words_shape, memory_shape):
        if self.vocabulary_size is None:
            raise ValueError(
                "HardAttention needs the vocabulary of a model. Received: no "
                "model. Pass it to a model: Seq2Seq(..., output=...)."
            )
        self.features = outputs_shape[-1]
        if not self.attention.built:  # as a loaded one is
            self.attention.build(outputs_shape, memory_shape)
        sizes = self.features + memory_shape[-1], self.units
        self.kernel = self._add("kernel", sizes, "glorot_uniform")
        sizes = self.units, self.vocabulary_size
        self.output_kernel = self._add("output_kernel", sizes, "glorot_uniform")
        self.output_bias = self._add("output_bias", sizes[1:], "zeros")
        if self.order:
            sizes = (2 * FARTHEST + 1,)
            self.offset_bias = self._add("offset_bias", sizes, "zeros")

    def get_build_config(self):
        return None  # its model builds it, which knows the vocabulary

    def _add(self, name, shape, initializer):
        return self.add_weight(
            name=name, shape=shape, initializer=initializer, autocast=False
        )

    def prepare(self, source):
        mask = source.mask
        if mask is None:
            mask = ops.ones(ops.shape(source.memory)[:2], "bool")
        memory = self.attention.prepare(source.memory, value_mask=mask)
        keys, within = self.attention.reach(memory, ops.expand_dims(mask, 1))
        nowhere = ops.logical_not(ops.any(within, axis=-1, keepdims=True))
        within = ops.logical_or(within, nowhere)  # at zeros
        wide = wide_dtype(self.compute_dtype)
        offsets = ops.where(within, ops.cast(0.0, wide), MASKED)
        first = ops.zeros_like(offsets[..., :1])
        if self.order:
            bias = ops.cast(self.offset_bias, wide)
            offsets = offsets_between(bias, within[:, 0], self.monotonic)
            first = MASKED * (1 - first_true(within, wide))
        values = ops.cast(memory.values, self.compute_dtype)
        return _Prepared(
            keys=keys,
            memory=product(values, self.kernel[self.features :]),
            real=ops.cast(ops.expand_dims(mask, 1), wide),
            offsets=offsets,
            first=first,
        )

    def first_state(self, prepared, beams):
        if not self.order:
            return ()
        blank = ops.zeros_like(prepared.memory)
        blank = ops.sum(blank, axis=1, keepdims=True)  # of one row, in graphs
        return tuple(
            ops.repeat(x, beams, axis=1) for x in (prepared.first, blank)
        )

    def call(self, decoded, prepared, training=None):
        words = _words_after(decoded.tokens)
        log_probs, priors, _ = self._read(decoded, words, prepared, training)
        return log_probs, self._weights(priors, prepared)

    def step(self, decoded, state, prepared):
        read, scores = self._project(decoded.outputs, prepared, False)
        before = prepared.first
        if self.order:
            known, earlier = state
            said = self._say(earlier, prepared.memory, decoded.tokens)
            before = ops.log_softmax(known + said, axis=-1)
        priors = self._move(before, scores, prepared)
        words = self._score_words(read, prepared.memory)
        joint = priors - log_sum(words, axis=-1)
        found = log_sum(words + ops.expand_dims(joint, -1), axis=2)
        state = (joint, read) if self.order else ()
        return found, self._weights(priors, prepared), state

    def align(self, model, source, target):
        """Compute the alignment of a known target.

        Formula:

            weights[t, j] = p(a_t = j | y, x)

        The weights are computed with the forward-backward algorithm. Unlike the
        weights that a call of the model returns, they also depend on the token
        itself and on all later tokens.

        Args:
            model: The `Seq2Seq` that this output belongs to.
            source: Ids `(B, Tv)`, or features `(B, Tv, D)`.
            target: Ids `(B, T + 1)`, from the start id to the end id.

        Returns:
            Weights `(B, T, Tv)` of the tokens after the start id, 0 at padding,
            in float32 or wider.
        """
        source, target = map(ops.convert_to_tensor, (source, target))
        memory, states, mask = model.encode(source, training=False)
        tokens = target[:, :-1]
        embedded = model.embed_target(tokens)
        outputs = model.decoder(
            embedded,
            memory,
            initial_state=states,
            sequence_mask=ops.not_equal(tokens, 0),
            memory_mask=mask,
            training=False,
            return_attention_scores=False,
        )
        decoded = Decoded(outputs, tokens, embedded, [])
        prepared = self.prepare(Source(source, None, memory, mask))
        words = _words_after(target)[:, :-1]
        found = self._read(decoded, words, prepared, False)
        _, scores = self._project(decoded.outputs, prepared, False)
        _, (logs,) = self._loop(
            _look_back,
            [ops.zeros_like(prepared.first)],
            [scores, *found[1:]],
            ops.where(words == 0, 0, decoded.tokens),
            [ops.zeros_like(prepared.real) + MASKED],
            prepared,
            False,
            reverse=True,
        )
        return self._weights(logs, prepared)

    def _read(self, decoded, words, prepared, training):
        """Run over known tokens; results are those of `_read_on`."""
        nowhere = ops.zeros_like(prepared.real) + MASKED
        shape = ops.shape(nowhere)[0], 1, self.vocabulary_size
        # Of a masked step, which still is a distribution.
        equal = ops.zeros(shape, nowhere.dtype) - math.log(shape[2])
        return self._loop(
            backend.recomputed(HardAttention._read_on),
            [prepared.first] if self.order else [],
            [*self._project(decoded.outputs, prepared, training), words],
            decoded.tokens,
            [equal, nowhere, nowhere],
            prepared,
            training,
        )[1]

    def _read_on(self, before, inputs, prepared):
        """Move to the next position, and score a known token.

        Args:
            before: List of the log probabilities of the previous position,
                `(B, 1, Tv)`; empty for order 0.
            inputs: Results of `_project` for a step, and its token.
            prepared: What `prepare` returned.

        Returns:
            The list after the token. Log probabilities of all tokens
            `(B, 1, V)`, of the positions before the token is known
            `(B, 1, Tv)`, and of the token at each position `(B, 1, Tv)`.
        """
        read, scores, words = inputs
        first = before[0] if before else prepared.first
        priors = self._move(first, scores, prepared)
        found, said = self._say_words(read, prepared.memory, priors, words)
        after = [ops.log_softmax(priors + said, axis=-1) for _ in before]
        return after, [found, priors, said]

    def _loop(self, step, states, inputs, tokens, blank, *more, **options):
        """Loop over time, with one beam."""
        inputs = [ops.swapaxes(x, 0, 1)[:, :, None] for x in inputs]
        real = ops.swapaxes(tokens, 0, 1) != 0
        steps = ops.shape(real)[0]
        states, found = masked_loop(
            step, states, inputs, real, blank, steps, self, *more, **options
        )
        return states, [ops.swapaxes(x[:, :, 0], 0, 1) for x in found]

    def _project(self, outputs, prepared, training):
        """Project outputs `(B, K, D)`, and score positions `(B, K, Tv)`."""
        attention = self.attention
        kernel = hoist(lambda w: w[: self.features], self.kernel)
        read = product(ops.cast(outputs, self.compute_dtype), kernel)
        query = ops.cast(outputs, attention.compute_dtype)
        query, score = attention.project_query(query), attention.score
        if attention.compares_pairs and training is not False:
            scores = score_one_by_one(attention, query, prepared.keys)
        else:
            scores = score(query, prepared.keys)
        return read, ops.cast(scores, prepared.offsets.dtype)

    def _move(self, before, scores, prepared):
        """Move to the next position: log probabilities `(B, K, Tv)`.

        Args:
            before: Log probabilities of the previous position, `(B, K, N)`.
            scores: Scores of positions, `(B, K, Tv)`.
            prepared: What `prepare` returned.
        """
        moves = log_transitions(scores, prepared.offsets)
        return log_sum(ops.expand_dims(before, -1) + moves, axis=2)

    def _score_words(self, read, memory):
        """Score all tokens from each position, `(B, K, Tv, V)`."""
        hidden, wide = _hidden(read, memory), wide_dtype(self.compute_dtype)
        dtype = keras.backend.standardize_dtype(hidden.dtype)
        kernel = hoist(lambda w: ops.cast(w, dtype), self.output_kernel)
        # Not `product`: a loop would keep its operand and its result.
        words = ops.cast(plain_product(hidden, kernel), wide)
        return words + ops.cast(self.output_bias, wide)

    def _say_words(self, *given):
        """Score all tokens, and a known token from each position.

        Args:
            *given: `read`, `memory`, the log probabilities of positions, and
                tokens `(B, 1)`.

        Returns:
            Log probabilities `(B, 1, V)` and `(B, 1, Tv)`.
        """
        count = min(BLOCKS, count_blocks(self.output_kernel))
        if count == 1:
            return self._say_block(*given)
        parts = [
            self._say_block(*(x[i:j] for x in given))
            for i, j in block_bounds(ops.shape(given[0])[0], count)
        ]
        return [ops.concatenate(x) for x in zip(*parts, strict=True)]

    def _say_block(self, read, memory, priors, words):
        scores = self._score_words(read, memory)
        found, norms = log_mixture(scores, priors)
        words = ops.broadcast_to(words[..., None], ops.shape(priors))
        return found, pick(scores, words) - norms

    def _say(self, read, memory, words):
        """Score one token `(B, K)` from each position, `(B, K, Tv)`."""
        hidden = _hidden(read, memory)
        table = ops.convert_to_tensor(hoist(ops.transpose, self.output_kernel))
        row = ops.cast(take_rows(table, words), hidden.dtype)
        scores = (hidden @ ops.expand_dims(row, -1))[..., 0]
        bias = take_rows(ops.convert_to_tensor(self.output_bias), words)
        wide = wide_dtype(self.compute_dtype)
        return ops.cast(scores, wide) + ops.cast(bias, wide)[..., None]

    def _weights(self, logs, prepared):
        weights = ops.exp(logs) * prepared.real
        return ops.cast(weights, self.compute_dtype)

    def compute_output_shape(self, outputs_shape, memory_shape) -> tuple:
        words = *outputs_shape[:2], self.vocabulary_size
        return words, (*outputs_shape[:2], memory_shape[1])


def _look_back(_, behind, inputs, prepared):
    """Run one step of the backward pass of the forward-backward algorithm.

    Args:
        _: The `HardAttention`.
        behind: List of the log probability of all later tokens, given the
            position, up to a constant, `(B, 1, N)`.
        inputs: Scores, and the log probabilities of positions from `_read_on`.
        prepared: What `prepare` returned.

    Returns:
        The list before the token; log probabilities of positions `(B, 1, Tv)`.
    """
    scores, priors, said = inputs
    logs = ops.log_softmax(priors + said + behind[0], axis=-1)
    transitions = log_transitions(scores, prepared.offsets)
    ratios = ops.expand_dims(logs - priors, 2)
    return [log_sum(transitions + ratios, axis=-1)], [logs]


def _hidden(read, memory):
    return tanh(ops.expand_dims(read, 2) + ops.expand_dims(memory, 1))


def _words_after(tokens):
    """Return the token generated at each step, `(B, T)`; 0 at the last."""
    tokens = ops.cast(tokens, "int32")
    steps, real = ops.arange(ops.shape(tokens)[1], dtype="int32"), tokens != 0
    # The real ones in order, of which so many are behind each step.
    order = ops.argsort(ops.where(real, steps, ops.shape(tokens)[1]), axis=1)
    words = ops.take_along_axis(tokens, order, axis=1)
    words = ops.pad(words, [[0, 0], [0, 1]])
    count = ops.cumsum(ops.cast(real, "int32"), axis=1)
    return ops.take_along_axis(words, count, axis=1)


def _check_attention(attention):
    check_object("attention", attention, AbstractAttention, ATTENTION)
    if attention.remembers:
        reason = "depend on earlier weights, which differ between alignments"
    elif attention.head_count is not None:
        reason = "belong to several heads"
    elif getattr(attention.aligner, "mapping", None) != "softmax":
        reason = "are not a softmax of scores"
    elif attention.dropout:
        reason = f"are dropped out, with dropout={attention.dropout}"
    else:
        return
    raise ValueError(
        "HardAttention needs an attention layer that scores each position from "
        "the query and the key at that position. Received: "
        f"attention={attention!r}, whose weights {reason}. {ATTENTION}"
    )
