"""Multi-head attention: each head has its own score."""

import functools

import keras

from keras_attention.attention.base import AbstractAttention
from keras_attention.attention.memory import Memory
from keras_attention.backend import ops
from keras_attention.checks import check_absent
from keras_attention.checks import check_integer
from keras_attention.checks import check_object
from keras_attention.checks import check_size
from keras_attention.checks import refuse_to_stream
from keras_attention.layers import AbstractKernelLayer
from keras_attention.layers import AbstractPartMaker
from keras_attention.layers import Constraint
from keras_attention.layers import Initializer
from keras_attention.layers import Regularizer
from keras_attention.ops import hoist
from keras_attention.ops import mix
from keras_attention.ops import product
from keras_attention.ops.rows import reshaped

MOST = 1000  # heads


@keras.saving.register_keras_serializable(package="keras_attention")
class MultiHead(AbstractPartMaker, AbstractKernelLayer, AbstractAttention):
    """Attends with several heads, and projects their contexts to one.

    Formula:

        c_h = attend_h(q Wq_h, k Wk_h, v Wv_h)
        context = [c_1; ...; c_H] Wo

    Each head is a copy of `attention` with its own weights and state. Without
    `key_dim`, the heads receive unprojected queries and keys. This is enough
    for attention layers that project queries and keys themselves, such as
    `BahdanauAttention`. Attention layers without trainable weights, such as
    `DotAttention`, need a `key_dim`; otherwise all heads have the same scores.

    The returned attention weights are the mean over the heads, and the
    auxiliary loss is computed from this mean. With `DotAttention(scale="sqrt")`
    and a `key_dim`, the layer computes the same as
    `keras.layers.MultiHeadAttention` without biases.

    Args:
        attention: The attention of every head. It is copied without its
            weights; the heads compute in the dtype of this layer.
        num_heads: Number `H` of heads, positive.
        key_dim: Size of the projected queries and keys of each head. Defaults
            to `None`, no projection.
        value_dim: Size of the projected values of each head. Defaults to
            `None`, which divides the size of the values by `num_heads`, rounded
            down.
        output_dim: Size of the context. Defaults to `None`, the size of the
            values.
        dropout: Rate at which the attention weights of each head are dropped in
            training. Defaults to `None`, the rate of `attention`.
        seed: Integer random seed. Defaults to `None`, the seed of `attention`.
        kernel_initializer: Initializer of the kernels of this layer; each
            kernel is initialized as one matrix for all heads. Defaults to
            `"glorot_uniform"`.
        kernel_regularizer: Regularizer of these kernels. Defaults to `None`.
        kernel_constraint: Constraint of these kernels. Defaults to `None`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Shapes:
        query `(B, Tq, Dq)`, value `(B, Tv, Dv)`, key `(B, Tv, Dk)` ->
        context `(B, Tq, output_dim)`; with `return_attention_scores="heads"`
        also weights `(B, H, Tq, Tv)`; the rest as in `AbstractAttention`.

    Raises: ValueError: If `attention` is not an attention layer, or is a
    `MultiHead`; if a size is not positive; or if the values have fewer features
    than there are heads and `value_dim` is `None`.

    Example:

    >>> attention = MultiHead(DotAttention("sqrt"), num_heads=4, key_dim=2)
    >>> context, weights = attention(
    ...     np.ones((2, 3, 8)),
    ...     np.ones((2, 7, 12)),
    ...     return_attention_scores="heads",
    ... )
    >>> tuple(context.shape), tuple(weights.shape)
    ((2, 3, 12), (2, 4, 3, 7))

    Reference:
        [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), section
        3.2.2; in a recurrent decoder:
        [Chen et al., 2018](https://arxiv.org/abs/1804.09849), section 4.
    """

    heads = ()  # until they are made

    def __init__(
        self,
        attention: AbstractAttention,
        num_heads: int,
        key_dim: int | None = None,
        value_dim: int | None = None,
        output_dim: int | None = None,
        *,
        dropout: float | None = None,
        seed: int | None = None,
        kernel_initializer: Initializer = "glorot_uniform",
        kernel_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        **kwargs,
    ):
        _check_attention(attention)
        check_absent(
            "alignment", kwargs, self, "its attention has its own alignment"
        )
        super().__init__(
            alignment=None,
            dropout=attention.dropout if dropout is None else dropout,
            seed=attention.seed if seed is None else seed,
            kernel_initializer=kernel_initializer,
            kernel_regularizer=kernel_regularizer,
            kernel_constraint=kernel_constraint,
            **kwargs,
        )
        check_integer("num_heads", num_heads, most=MOST)
        self.num_heads = self.head_count = int(num_heads)
        self.key_dim = check_size("key_dim", key_dim)
        self.value_dim = check_size("value_dim", value_dim)
        self.output_dim = check_size("output_dim", output_dim)
        names = [f"head_{h}" for h in range(num_heads)]
        self.heads = [self._copy(attention, name) for name in names]
        self.compares_pairs = attention.compares_pairs
        if self.noisy and not self.dropout:
            self.seed_generator = keras.random.SeedGenerator(self.seed)

    @property
    def attention(self) -> AbstractAttention:
        """The attention of the first head."""
        return self.heads[0]

    def made_parts(self) -> dict[str, AbstractAttention]:
        """Return the heads, by their names."""
        return {head.name: head for head in self.heads}

    def get_config(self) -> dict:
        config = super().get_config()
        config["attention"]["config"]["trainable"] = True  # heads say it
        return config

    @property
    def state_count(self) -> int:
        """Number of tensors that `initial_state` returns."""
        return self.heads[0].state_count

    @property
    def noisy(self) -> bool:
        """Whether `weigh` needs noise in training."""
        return any(head.noisy for head in self.heads)

    def build(self, query_shape, value_shape, key_shape=None):
        key_shape = key_shape or value_shape
        query_size, key_size = query_shape[-1], key_shape[-1]
        if self.key_dim is not None:
            size, add = self.key_dim, self._add_split
            self.query_kernel = add("query_kernel", query_size, size)
            self.key_kernel = add("key_kernel", key_size, size)
            query_size = key_size = size
        features = value_shape[-1]
        size = self.value_dim or _share(features, self.num_heads)
        self.value_kernel = self._add_split("value_kernel", features, size)
        joined = self.num_heads, size, self.output_dim or features
        self.output_kernel = self.add_kernel(
            "output_kernel", joined, (self.num_heads * size, joined[-1])
        )
        for head in self.heads:
            head.build(
                (*query_shape[:-1], query_size),
                (*value_shape[:-1], size),
                (*key_shape[:-1], key_size),
            )

    def _add_split(self, name, features, size):
        """Add the kernel of a projection to `size` features of each head."""
        heads = self.num_heads
        return self.add_kernel(
            name, (features, heads, size), (features, heads * size)
        )

    def project_query(self, query):
        if self.key_dim is None:
            return ops.repeat(ops.expand_dims(query, 2), self.num_heads, axis=2)
        return _project(query, self.query_kernel)  # (B, Tq, H, key_dim)

    def project_keys(self, key):
        if self.key_dim is not None:
            key = _project(key, self.key_kernel)
        keys = [
            head.project_keys(key if self.key_dim is None else key[:, :, h])
            for h, head in enumerate(self.heads)
        ]
        return ops.stack(keys, axis=2)  # (B, Tv, H, ...)

    def project_values(self, value):
        return _project(value, self.value_kernel)  # (B, Tv, H, value_dim)

    def weigh(self, query, memory, mask, state, noise, **options) -> tuple:
        keys, values, real = memory
        query, heads = self.project_query(query), self.num_heads

        def run(head, take, real, mask):
            return head.weigh(
                take(query),
                Memory(hoist(take, keys), hoist(take, values), real),
                mask,
                tuple(map(take, state)),
                None if noise is None else take(noise),
                **options,
            )

        if self.heads[0].weights:
            takes = [functools.partial(_of_head, h) for h in range(heads)]
            results = [
                run(head, take, real, mask)
                for head, take in zip(self.heads, takes, strict=True)
            ]
            weights, states = zip(*results, strict=True)
            states = [ops.stack(x, axis=2) for x in zip(*states, strict=True)]
            return ops.stack(weights, axis=1), tuple(states)
        # Heads without weights are all the same, and run together as rows.
        if real is not None:
            real = ops.repeat(real, heads, axis=0)
        mask = _mask_rows(mask, query)
        weights, state = run(self.heads[0], self._rows, real, mask)
        state = [ops.stack(self._split(x), axis=2) for x in state]
        return self._from_rows(weights), tuple(state)

    def _heads_first(self, x):
        """Transpose `(B, T, H, ...)` to `(B, H, T, ...)`.

        Slices are stacked, because the ONNX converter breaks transpositions
        that move an axis of size 1.
        """
        return ops.stack([x[:, :, h] for h in range(self.num_heads)], axis=1)

    def _rows(self, x):
        """Move heads to the batch: `(B, T, H, ...)` to `(B H, T, ...)`."""
        return _as_rows(self._heads_first(x))

    def _from_rows(self, x):
        """Restore the axis of heads: `(B H, T, ...)` to `(B, H, T, ...)`."""
        rows, *rest = ops.shape(x)
        heads = self.num_heads
        return reshaped(x, (rows // heads, heads, *rest))

    def _split(self, x):
        """Return each head's rows `(B, T, ...)` of `(B H, T, ...)`."""
        x = self._from_rows(x)
        return [x[:, h] for h in range(self.num_heads)]

    def average(self, weights, values):
        contexts = mix(_as_rows(weights), hoist(self._rows, values))
        joined = ops.concatenate(self._split(contexts), axis=-1)
        return product(joined, hoist(_below, self.output_kernel))

    def merge_heads(self, weights):
        # `ops.mean` gives float32 for float64 on torch.
        return ops.sum(weights, axis=1) / self.num_heads

    def drop(self, weights, factors):
        return weights * self._heads_first(factors)  # from (B, Tq, H, Tv)

    def reading(self):
        way_out = "Use several attentions, AttentionDecoderCell(cell, [...])."
        reason = "has heads that can stop at different positions"
        refuse_to_stream("MultiHead", reason, way_out)

    def harden(self) -> list[str]:
        return [change for head in self.heads for change in head.harden()]

    def first_state(self, real) -> tuple:
        states = [head.first_state(real) for head in self.heads]
        return tuple(ops.stack(x, axis=2) for x in zip(*states, strict=True))

    def draw_noise(self, memory, steps: int, beams: int = 1):
        batch, words = ops.shape(memory[1])[:2]
        rows = batch * self.num_heads
        aligner = self.heads[0].aligner
        noise = self._draw_noise(aligner, (steps, rows, beams, words))
        if noise is None:
            return None
        noise = ops.reshape(
            noise, (steps, batch, self.num_heads, *ops.shape(noise)[2:])
        )
        return ops.swapaxes(noise, 2, 3)  # (steps, B, K, H, ...)

    def auxiliary_loss(self, weights, query_mask=None):
        losses = [x.auxiliary_loss(weights, query_mask) for x in self.heads]
        return None if losses[0] is None else sum(losses) / len(losses)

    def compute_output_shape(
        self, query_shape, value_shape, key_shape=None
    ) -> tuple:
        return (*query_shape[:-1], self.output_dim or value_shape[-1])


def _check_attention(attention):
    way_out = "Try DotAttention('sqrt'), or BahdanauAttention(64)."
    check_object("attention", attention, AbstractAttention, way_out)
    if attention.head_count is not None:
        raise ValueError(
            "`attention` must be an attention layer without heads. Received: "
            f"attention={attention!r}. {way_out}"
        )


def _share(features, heads):
    """Return the default size of a head's values."""
    if features < heads:
        raise ValueError(
            "Without `value_dim`, MultiHead needs at least one feature of the "
            f"values for each head. Received: num_heads={heads} for values of "
            f"size {features}. Reduce `num_heads`, or set `value_dim`."
        )
    return features // heads


def _of_head(h: int, x):
    """Return head `h` of `(B, T, H, ...)`, as `(B, T, ...)`."""
    return x[:, :, h]


def _project(x, kernel):
    """Project `(B, T, D)` by `(D, H, U)` in one product: `(B, T, H, U)`."""
    projected = product(x, hoist(_beside, kernel))
    return reshaped(projected, (*ops.shape(x)[:2], *kernel.shape[1:]))


def _beside(kernel):
    return ops.reshape(kernel, (kernel.shape[0], -1))


def _below(kernel):
    return ops.reshape(kernel, (-1, kernel.shape[-1]))


def _as_rows(x):
    """Move the heads of `(B, H, T, ...)` to the batch: `(B H, T, ...)`."""
    batch, heads, *rest = ops.shape(x)
    return reshaped(x, (batch * heads, *rest))


def _mask_rows(mask, query):
    """Repeat a mask for every head.

    Args:
        mask: Boolean that broadcasts to `(B, Tq, Tv)`, or `None`.
        query: The query of each head, `(B, Tq, H, ...)`.

    Returns:
        Boolean that broadcasts to `(B H, Tq, Tv)`, or `None`.
    """
    if mask is None:
        return None
    for _ in range(3 - len(mask.shape)):
        mask = ops.expand_dims(mask, 0)
    nowhere = ops.sum(ops.zeros_like(query[:, :1]), axis=(1, 3)) > 0  # (B, H)
    mask = ops.expand_dims(mask, 1)
    return _as_rows(ops.logical_or(mask, nowhere[..., None, None]))
