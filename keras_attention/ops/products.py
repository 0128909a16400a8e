"""Products and additive scores of a step, as operations with gradients."""

from keras.backend import standardize_dtype

from keras_attention.backend import backend
from keras_attention.backend import ops
from keras_attention.ops.numerics import tanh
from keras_attention.ops.numerics import widen
from keras_attention.ops.operations import Operation
from keras_attention.ops.operations import dtype_of
from keras_attention.ops.operations import hoist
from keras_attention.ops.operations import hoists
from keras_attention.ops.operations import is_portable
from keras_attention.ops.operations import perform
from keras_attention.ops.rows import reshaped

SPARE = 16  # columns: one line of the cache in float32


def product(x, kernel):
    """Multiply features with a kernel, in the dtype of the features.

    Features with more axes are reshaped to a matrix, because XLA cannot
    differentiate TensorFlow's product of more axes inside a loop. The product
    is computed with `@`, because `ops.matmul` computes float64 in float32 on
    torch.

    In a loop, a kernel whose rows would collide in the cache is padded with a
    few columns, once for all steps.

    Args:
        x: `(..., D)`.
        kernel: `(D, U)`.

    Returns:
        `(..., U)`.
    """
    dtype = standardize_dtype(x.dtype)
    kernel = in_dtype(kernel, dtype)
    if hoists(kernel) and _rows_collide(kernel.shape[-1], dtype):
        return perform(WIDE_PRODUCT, x, kernel, hoist(_widened, kernel))
    return perform(PRODUCT, x, kernel)


def in_dtype(kernel, dtype: str):
    """Return a kernel in a dtype, which a loop converts once for all steps.

    Args:
        kernel: A tensor or a Keras variable.
        dtype: Name of the dtype.
    """
    if dtype_of(kernel) == dtype:
        return kernel
    return hoist(lambda kernel: ops.cast(kernel, dtype), kernel)


def _rows_collide(columns, dtype):
    return not is_portable() and backend.rows_collide(columns, dtype)


def _widened(kernel):
    kernel = ops.convert_to_tensor(kernel)
    return ops.pad(kernel, [[0, 0], [0, SPARE]])


def joint_product(features, kernels):
    """Multiply each of several features with its kernel, and add the products.

    In a loop, this is one product of the concatenated features; the kernels are
    concatenated before the loop.

    Args:
        features: List of `(..., D)`, whose sizes `D` may differ.
        kernels: List of `(D, U)`, one for each of the features.

    Returns:
        `(..., U)`.
    """
    if len(features) > 1 and hoists():
        features = [ops.concatenate(features, axis=-1)]
        kernels = [hoist(_beside, *kernels)]
    first, *more = map(product, features, kernels)
    return sum(more, first)


def _beside(*kernels):
    return ops.concatenate([ops.convert_to_tensor(x) for x in kernels], axis=0)


def dot_scores(query, keys):
    """Compute the inner product of every query with every key.

    Because such sums easily overflow float16, they are computed and returned in
    float32 or wider.

    Args:
        query: `(B, Tq, D)`.
        keys: `(B, Tv, D)`.

    Returns:
        Scores `(B, Tq, Tv)` in float32 or wider.
    """
    return perform(DOT_SCORES, widen(query), keys)


def mix(weights, values):
    """Compute the weighted sum of the values for every query.

    Args:
        weights: `(B, Tq, Tv)`.
        values: `(B, Tv, D)`.

    Returns:
        `(B, Tq, D)`.
    """
    return perform(MIX, weights, values)


def _rows(x):
    return ops.reshape(x, (-1, x.shape[-1]))


def plain_product(x, kernel):
    """Compute a `product` that no loop records.

    Args:
        x: `(..., D)`.
        kernel: `(D, U)` of the same dtype.

    Returns:
        `(..., U)`.
    """
    kernel = ops.convert_to_tensor(kernel)
    if len(x.shape) == 2 or is_portable():
        return x @ kernel
    return reshaped(_rows(x) @ kernel, (*ops.shape(x)[:-1], kernel.shape[-1]))


def _prepare_product(kernel, *_):
    turned = ops.transpose(kernel)  # halves the time of each product
    dtype = standardize_dtype(turned.dtype)
    return [
        _widened(turned) if _rows_collide(turned.shape[1], dtype) else turned
    ]


def _product_vjp(dy, x, turned):
    return _first_columns(plain_product(dy, turned), x.shape[-1])


def _product_constants_vjp(dys, xs, _):
    return [ops.transpose(_rows(xs)) @ _rows(dys)]


def _wide_product(x, kernel, wide):
    return _first_columns(plain_product(x, wide), kernel.shape[-1])


def _wide_product_constants_vjp(dys, xs, kernel, _):
    return [*_product_constants_vjp(dys, xs, kernel), None]


def _first_columns(x, count):
    return x if x.shape[-1] == count else x[..., :count]


def _transposed(x):
    return ops.swapaxes(x, -1, -2)


def _over_time(x):
    """Join the axes of steps and queries: `(B, T Tq, ...)`."""
    steps, batch, queries, size = ops.shape(x)
    x = ops.swapaxes(x, 0, 1)
    return ops.reshape(x, (batch, steps * queries, size))


def _dot_scores(query, keys):
    return query @ _transposed(widen(keys))


def _dot_scores_vjp(dy, _, keys):
    return dy @ widen(keys)


def _dot_scores_constants_vjp(dys, queries, keys):
    found = _transposed(_over_time(dys)) @ _over_time(queries)
    return [ops.cast(found, keys.dtype)]


def _mix(weights, values):
    return weights @ values


def _mix_vjp(dy, _, values):
    return dy @ _transposed(values)


def _mix_constants_vjp(dys, weights, _):
    return [_transposed(_over_time(weights)) @ _over_time(dys)]


PRODUCT = Operation(
    plain_product, _product_vjp, _product_constants_vjp, _prepare_product
)
WIDE_PRODUCT = Operation(
    _wide_product, _product_vjp, _wide_product_constants_vjp, _prepare_product
)
DOT_SCORES = Operation(_dot_scores, _dot_scores_vjp, _dot_scores_constants_vjp)
MIX = Operation(_mix, _mix_vjp, _mix_constants_vjp)


def additive_scores(query, keys, vector):
    """Score projected queries against projected keys with a small network.

    Formula:

        score[i, j] = sum_u vector[u] * tanh(query[i, u] + keys[j, u])

    Args:
        query: Projected queries `(B, Tq, U)`.
        keys: Projected keys `(B, Tv, U)`.
        vector: Weight of each unit, `(U,)`.

    Returns:
        Scores `(B, Tq, Tv)`.
    """
    return perform(ADDITIVE_SCORES, query, keys, ops.cast(vector, query.dtype))


def _hidden(query, keys):
    return tanh(ops.expand_dims(query, 2) + ops.expand_dims(keys, 1))


def _additive_scores(query, keys, vector):
    hidden = _hidden(query, keys)  # (B, Tq, Tv, U)
    scores = plain_product(hidden, ops.expand_dims(vector, -1))
    return ops.squeeze(scores, axis=-1)


def _additive_scores_vjp(dy, query, keys, vector):
    hidden = _hidden(query, keys)  # computed again, to save memory
    rows = ops.reshape(hidden, (-1, hidden.shape[-1]))
    of_vector = ops.reshape(dy, (1, -1)) @ rows
    # Products: to broadcast takes TensorFlow twice as long, and so does XLA's
    # sum over positions.
    slope = ops.reshape(dy, (-1, 1)) @ ops.expand_dims(vector, 0)
    slope = reshaped(slope, ops.shape(hidden)) * (1 - hidden * hidden)
    of_query = ops.expand_dims(ops.ones_like(dy), 2) @ slope
    return [ops.squeeze(of_query, axis=2), ops.sum(slope, axis=1), of_vector[0]]


ADDITIVE_SCORES = Operation(_additive_scores, _additive_scores_vjp)


def featured_additive_scores(query, keys, vector):
    """Score like `additive_scores`, with keys that differ for each query.

    Formula:

        score[i, j] = sum_u vector[u] * tanh(query[i, u] + keys[i, j, u])

    Args:
        query: Projected queries `(B, K, U)`.
        keys: Projected keys of each query, `(B, K, Tv, U)`.
        vector: Weight of each unit, `(U,)`.

    Returns:
        Scores `(B, K, Tv)`.
    """
    batch, beams, positions, units = ops.shape(keys)
    rows = batch * beams  # queries become rows: each has keys of its own
    scores = additive_scores(
        reshaped(query, (rows, 1, units)),
        reshaped(keys, (rows, positions, units)),
        vector,
    )
    return reshaped(scores, (batch, beams, positions))
