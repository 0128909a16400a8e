"""Graph attention: every node attends to its neighbors."""

import keras

from keras_attention.attention.memory import as_mask
from keras_attention.attention.memory import real_sequence
from keras_attention.backend import ops
from keras_attention.checks import check_choice
from keras_attention.checks import check_integer
from keras_attention.checks import check_rate
from keras_attention.layers import AbstractKernelLayer
from keras_attention.layers import Constraint
from keras_attention.layers import Initializer
from keras_attention.layers import Regularizer
from keras_attention.layers import carried_mask
from keras_attention.ops import join_masks
from keras_attention.ops import masked_softmax
from keras_attention.ops import mix
from keras_attention.ops import product
from keras_attention.ops import widen
from keras_attention.ops.replicas import own_seed

SLOPE = 0.2  # of LeakyReLU below zero, as in both papers


@keras.saving.register_keras_serializable(package="keras_attention")
class GraphAttention(AbstractKernelLayer):
    """Averages the features of a node's neighbors with learned weights.

    Formula:

        version 1: score[i, j] = LeakyReLU(a . h_i W + b . h_j W)
                   out[i] = sum_j softmax_j(score[i, j]) h_j W
        version 2: score[i, j] = a . LeakyReLU(h_i Wq + h_j Wk)
                   out[i] = sum_j softmax_j(score[i, j]) h_j Wk

    In version 1 all nodes rank their neighbors in the same order, because
    `a . h_i W` is the same for all `j`; in version 2 the order depends on the
    node. The output has no bias and no activation; if you need them, add them
    after this layer.

    By default, the layer adds no edges: a node attends to itself only if
    `adjacency[i, i]` is `True`, and the output of a node without neighbors is
    zeros. PyTorch Geometric adds self-loops by default; to do the same, set
    `add_self_loops=True`.

    Args:
        units: Size of the output of each head, positive.
        heads: Number of heads, positive. Defaults to `1`.
        version: `1` for GAT, or `2` for GATv2. Defaults to `2`.
        concat: `True` to concatenate the heads, with `heads * units` output
            features; `False` to average them, with `units` output features.
            Defaults to `True`.
        add_self_loops: Whether every node also attends to itself. Defaults to
            `False`.
        dropout: Rate in `[0, 1)` at which attention weights are dropped in
            training; the remaining weights are scaled up. Defaults to `0.0`.
        seed: Integer random seed for dropout. Defaults to `None`.
        kernel_initializer: Initializer of every kernel. Defaults to
            `"glorot_uniform"`.
        kernel_regularizer: Regularizer of every kernel. Defaults to `None`.
        kernel_constraint: Constraint of every kernel. Defaults to `None`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Call arguments:
        nodes: Features `(B, N, D)`.
        adjacency: Boolean `(B, N, N)`, or `(N, N)` for the same graph in
            every row of the batch. `adjacency[i, j]` is `True` if node `i`
            attends to node `j`.
        mask: Boolean `(B, N)`, `True` at valid nodes. No node attends to a
            masked node, and the output of a masked node is zeros. Defaults to
            the mask that `nodes` carries, if any.
        edge_mask: Boolean, with the shape of `adjacency`. `False` removes an
            edge, including an added self-loop.
        training: Whether to apply dropout.
        return_attention_scores: Whether to return the weights (before dropout)
            as well.

    Returns:
        outputs: `(B, N, heads * units)`, or `(B, N, units)` if averaged.
        weights: `(B, heads, N, N)`, on request.

    Raises:
        ValueError: If `units` or `heads` is not positive, if `version` is
            unknown, or if `dropout` is not in `[0, 1)`.

    Example:

    >>> layer = GraphAttention(4, heads=2)
    >>> ring = np.roll(np.eye(6, dtype=bool), 1, axis=1)
    >>> tuple(layer(np.ones((1, 6, 3)), ring[None]).shape)
    (1, 6, 8)

    Reference:
        [Velickovic et al., 2018](https://arxiv.org/abs/1710.10903), eqs. 1 to
        6; [Brody et al., 2022](https://arxiv.org/abs/2105.14491), eq. 7.
    """

    def __init__(
        self,
        units: int,
        heads: int = 1,
        version: int = 2,
        concat: bool = True,
        add_self_loops: bool = False,
        dropout: float = 0.0,
        seed: int | None = None,
        *,
        kernel_initializer: Initializer = "glorot_uniform",
        kernel_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        **kwargs,
    ):
        super().__init__(
            kernel_initializer=kernel_initializer,
            kernel_regularizer=kernel_regularizer,
            kernel_constraint=kernel_constraint,
            **kwargs,
        )
        check_choice("version", version, (1, 2))
        self.units = check_integer("units", units)
        self.heads = check_integer("heads", heads)
        self.version = version
        self.concat = concat
        self.add_self_loops = add_self_loops
        self.dropout = check_rate("dropout", dropout)
        self.seed = seed
        if dropout:
            self.seed_generator = keras.random.SeedGenerator(seed)
        self.supports_masking = True

    def build(self, nodes_shape, adjacency_shape):
        kernel = (nodes_shape[-1], self.heads * self.units)
        vector = (self.heads, self.units)
        if self.version == 1:
            self.kernel = self.add_kernel("kernel", kernel)
            self.query_vector = self.add_kernel("query_vector", vector)
            self.key_vector = self.add_kernel("key_vector", vector)
        else:
            self.query_kernel = self.add_kernel("query_kernel", kernel)
            self.key_kernel = self.add_kernel("key_kernel", kernel)
            self.score_vector = self.add_kernel("score_vector", vector)

    def call(
        self,
        nodes,
        adjacency,
        mask=None,
        edge_mask=None,
        training: bool | None = None,
        return_attention_scores: bool = False,
    ):
        if mask is None:
            # Keras fills in `mask` only if there is one tensor argument.
            mask = carried_mask(nodes)
        nodes, mask = real_sequence(self, "nodes", nodes, mask, "(B, N, D)")
        edges = self._edges(adjacency, mask, edge_mask)
        scores, values = self._score(nodes)  # (B, N, N, H), (B, N, H, U)
        scores = ops.moveaxis(scores, 3, 1)  # (B, H, N, N)
        weights = masked_softmax(scores, ops.expand_dims(edges, 1))
        weights = ops.cast(weights, self.compute_dtype)
        kept = weights
        if training and self.dropout:
            seed = own_seed(self.seed_generator)
            kept = keras.random.dropout(weights, self.dropout, seed=seed)
        outputs = mix(kept, ops.swapaxes(values, 1, 2))  # (B, H, N, U)
        if self.concat:
            size = self.heads * self.units
            outputs = ops.swapaxes(outputs, 1, 2)
            outputs = ops.reshape(outputs, (*ops.shape(nodes)[:2], size))
        else:
            outputs = ops.sum(outputs, axis=1) / self.heads
        return (outputs, weights) if return_attention_scores else outputs

    def _edges(self, adjacency, mask, edge_mask):
        """Combine adjacency, self-loops and masks: `(B or 1, N, N)`."""
        edges = ops.cast(adjacency, "bool")
        if self.add_self_loops:
            nodes = ops.arange(ops.shape(edges)[-1], dtype="int32")
            loops = ops.expand_dims(nodes, 1) == nodes
            edges = ops.logical_or(edges, loops)
        edges = join_masks(edges, as_mask(edge_mask))
        if len(edges.shape) == 2:
            edges = ops.expand_dims(edges, 0)
        real = [] if mask is None else [mask[:, None], mask[:, :, None]]
        return join_masks(edges, *real)

    def _score(self, nodes):
        """Score node `i` with node `j`, `(B, N, N, H)`, and project values."""
        if self.version == 1:
            values = self._heads(product(nodes, self.kernel))
            query = self._weighted(values, self.query_vector)  # (B, N, H)
            key = self._weighted(values, self.key_vector)
            pairs = ops.expand_dims(query, 2) + ops.expand_dims(key, 1)
            return _leaky(pairs), values
        query = self._heads(product(nodes, self.query_kernel))
        values = self._heads(product(nodes, self.key_kernel))
        pairs = ops.expand_dims(query, 2) + ops.expand_dims(values, 1)
        hidden = _leaky(pairs)  # (B, N, N, H, U)
        return self._weighted(hidden, self.score_vector), values

    def _heads(self, x):
        return ops.reshape(x, (*ops.shape(x)[:-1], self.heads, self.units))

    def _weighted(self, x, vector):
        wide = widen(x)
        return ops.sum(wide * ops.cast(vector, wide.dtype), axis=-1)

    def compute_output_shape(self, nodes_shape, adjacency_shape) -> tuple:
        size = self.heads * self.units if self.concat else self.units
        return (*nodes_shape[:-1], size)

    def compute_output_spec(self, *args, **kwargs):
        return keras.Operation.compute_output_spec(self, *args, **kwargs)


def _leaky(x):
    """Compute LeakyReLU; TensorFlow's own rounds the slope to float32."""
    return ops.where(x > 0, x, SLOPE * x)
