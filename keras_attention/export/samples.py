"""Inputs and outputs of a model by name, and batches to test a file with."""

import inspect
import itertools
import keyword
import re
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_attention.arrays import is_uneven
from keras_attention.checks import check_shape

# Rows, and factors of the lengths of the sample: they grow and shrink, as
# those in `agreement.py` do.
SIZES = (
    *((1, 1.0), (2, 1.0), (4, 1.0), (8, 1.0), (16, 1.0)),
    *((1, 0.4), (3, 2.0), (9, 2.0), (2, 0.25)),
)
MOST_NUMBERS = 1 << 22  # of a batch that is not the sample
NAMELESS = re.compile(r"keras_tensor(_\d+)?")
WRITABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]*")


class Interface:
    """The names of the inputs and outputs of a model, and its open axes.

    A functional model declares its open axes. In other models, an axis is
    open if the model runs with another size of it.

    Args:
        model: A built Keras model.
        sample: Example inputs with a batch axis: an array, or a list or a
            dictionary of arrays.

    Attributes:
        sample: The arrays by input name.
        specs: The `tf.TensorSpec` of each input.

    Raises:
        ValueError: If the sample does not fit the model.
    """

    def __init__(self, model: keras.Model, sample: Any):
        self._model = model
        declared = _declared_inputs(model)
        is_functional = declared and not isinstance(model, keras.Sequential)
        arrays = self.sample = _by_name(model, declared, sample)
        if is_functional:
            for name, x in zip(arrays, declared, strict=True):
                arrays[name] = _fitted(name, arrays[name], x)
        for name, x in arrays.items():
            _check_array(name, x)
        self._structure = sample
        if declared:
            self._structure = model.input if is_functional else declared[0]
        try:
            found = self._call(arrays)
        except Exception as error:  # of any layer
            raise ValueError(
                f"`sample` must be a valid input of `{model.name}`. Received: "
                f"{_shapes(arrays)}, for which the model fails: {error}"
            ) from error
        self._names = _output_names(model, found)
        if is_functional:
            pairs = zip(arrays, declared, strict=True)
            shapes = {name: list(x.shape) for name, x in pairs}
        else:
            shapes = self._tried_shapes()
        self.specs = [
            tf.TensorSpec(shapes[name], x.dtype, name)
            for name, x in arrays.items()
        ]
        told = [x.shape for x in declared or ()]
        self._tells_shapes = told == [tuple(x.shape) for x in self.specs]

    def run(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Call the model in inference mode, and return its outputs by name."""
        found = keras.tree.flatten(self._call(inputs))
        named = dict(zip(self._names, found, strict=True))
        return {name: x for name, x in named.items() if x is not None}

    def _call(self, inputs):
        packed = list(inputs.values())
        packed = keras.tree.pack_sequence_as(self._structure, packed)
        return self._model(packed, training=False)

    def trace(self) -> tf.types.experimental.PolymorphicFunction:
        """Trace the model once for all sizes of its open axes."""
        names = list(self.sample)

        def serve(*tensors):
            found = self.run(dict(zip(names, tensors, strict=True)))
            # An output that is an input, too, would lose its name.
            return {name: tf.identity(x) for name, x in found.items()}

        function = tf.function(serve, self.specs, autograph=False)
        try:
            function.get_concrete_function()
        except Exception as error:
            shapes = {x.name: x.shape.as_list() for x in self.specs}
            raise ValueError(
                f"`{self._model.name}` must run for all sizes of its inputs "
                f"{shapes}. Received: a model that fails if a size is "
                f"unknown: {error}. In its layers, use ops.shape(x)[1] instead "
                "of x.shape[1], or fix the size: keras.Input(shape=(40,))."
            ) from error
        return function

    def trials(self) -> Iterator[tuple[dict, dict]]:
        """Yield batches, and the outputs of the model for them.

        The first batch is the sample. Others consist of its rows, from other
        starting positions and repeated, with smaller floats. Batches that the
        model cannot process, such as too short sequences, are skipped.
        """
        first = _arrays(self.run(self.sample))
        yield self.sample, first
        was_finite = _is_finite(first)
        draw = np.random.default_rng(0)
        for rows, factor in SIZES:
            batch = self._resized(rows, factor, draw)
            if sum(x.size for x in batch.values()) > MOST_NUMBERS:
                continue
            if self._tells_shapes and not self._has_spec(batch):
                continue  # of too small an image some kernels give anything
            try:
                found = _arrays(self.run(batch))
            except Exception:  # the model's own limit
                continue
            if _is_finite(found) or not was_finite:
                yield batch, found

    def axes(
        self, batches: Sequence[dict], outputs: Sequence[dict]
    ) -> dict[str, list[str]]:
        """Name the axes of inputs and outputs.

        The first axis of inputs is `"batch"`; others are named after the input,
        with a number. An axis of an output has the name of the first open axis
        with the same length in all batches. If there is none, it is named after
        the output, with a number.

        Args:
            batches: The batches of `trials`.
            outputs: The outputs of the model for them.
        """
        names, lengths = {}, {}
        for spec in self.specs:
            names[spec.name] = [
                f"{spec.name}_{i}" for i in range(len(spec.shape))
            ]
            names[spec.name][0] = "batch"
            for axis, name in enumerate(names[spec.name]):
                if spec.shape[axis] is None:
                    found = [x[spec.name].shape[axis] for x in batches]
                    lengths.setdefault(tuple(found), name)
        for key, first in outputs[0].items():
            names[key] = []
            for axis in range(first.ndim):
                found = tuple(x[key].shape[axis] for x in outputs)
                names[key].append(lengths.get(found, f"{key}_{axis}"))
        return names

    def _has_spec(self, batch):
        """Return whether Keras can compute the output shapes."""
        specs = [
            keras.KerasTensor(batch[x.name].shape, x.dtype.name)
            for x in self.specs
        ]
        specs = keras.tree.pack_sequence_as(self._structure, specs)
        try:
            self._model.compute_output_spec(specs, training=False)
        except Exception:  # of any layer
            return False
        return True

    def _resized(self, rows, factor, draw):
        """Create a batch with other sizes from the sample."""
        batch, starts = {}, {}  # by row and size: what belongs together
        scales = draw.uniform(0.5, 1.0, rows)
        for spec in self.specs:
            x, made = self.sample[spec.name], []
            count = rows if spec.shape[0] is None else len(x)
            for row in range(count):
                y = x[row % len(x)]
                for axis, size in enumerate(spec.shape[1:]):
                    if size is None:
                        n = y.shape[axis]
                        key = row, x.shape[axis + 1]
                        start = starts.setdefault(key, draw.integers(n))
                        places = np.arange(max(1, round(n * factor))) + start
                        y = np.take(y, places % n, axis)
                if x.dtype.kind == "f":
                    y = (y * scales[row % rows]).astype(x.dtype)
                made.append(y)
            batch[spec.name] = np.array(made, x.dtype)
        return batch

    def _tried_shapes(self):
        """Find open axes: those that the model runs with another size of."""
        shapes = {name: list(x.shape) for name, x in self.sample.items()}
        groups = {}  # by size, but for rows; equal sizes may belong together
        for name, x in self.sample.items():
            for axis, size in enumerate(x.shape):
                key = size if axis else "rows"
                groups.setdefault(key, []).append((name, axis))
        for group in groups.values():
            for name, axis in self._open_part(group):
                shapes[name][axis] = None
        return shapes

    def _open_part(self, axes):
        """Return the largest subset of axes that can change size together."""
        parts = (
            part
            for count in range(len(axes), 0, -1)
            for part in itertools.combinations(axes, count)
        )
        return next(filter(self._runs_without, parts), ())

    def _runs_without(self, axes):
        """Return whether the model runs with other sizes of some axes."""
        for change in (lambda n: n + 1, lambda n: 2 * n, lambda n: n - 1):
            batch = dict(self.sample)
            for name, axis in axes:
                x = batch[name]
                places = np.arange(change(x.shape[axis])) % x.shape[axis]
                batch[name] = np.take(x, places, axis)
            try:
                self.run(batch)
            except Exception:  # of any layer
                continue
            return True
        return False


def _declared_inputs(model) -> list | None:
    """Return the symbolic inputs of a functional or sequential model."""
    found = getattr(model, "inputs", None)
    is_flat = isinstance(found, list) and bool(found)
    if is_flat and all(isinstance(x, keras.KerasTensor) for x in found):
        return found
    return None


def _by_name(model, declared, sample) -> dict[str, np.ndarray]:
    """Return the arrays of a sample by input name."""
    given = {
        "_".join(map(str, path)): x
        for path, x in keras.tree.flatten_with_path(sample)
    }
    for name, x in given.items():
        _check_given(name, x)
    if declared is None:
        first, *_ = inspect.signature(model.call).parameters
        if not keras.tree.is_nested(sample):
            given = {first: sample}
        elif not isinstance(sample, dict):
            given = {f"{first}_{i}": x for i, x in given.items()}
    else:
        given = _matched(model, declared, sample, given)
    return {name: _as_array(name, x) for name, x in given.items()}


def _matched(model, declared, sample, given):
    layers = {
        id(x.output): x.name
        for x in model.layers
        if isinstance(x, keras.layers.InputLayer)
    }
    names = [layers.get(id(x), x.name) for x in declared]
    names = ["inputs" if NAMELESS.fullmatch(x) else x for x in names]
    if isinstance(sample, dict):
        lacking = [x for x in names if x not in given]
        if not lacking:
            return {name: given[name] for name in names}
    elif len(given) == len(names):
        return dict(zip(names, given.values(), strict=True))
    raise ValueError(
        f"`sample` must have the inputs of `{model.name}`, which are {names}. "
        f"Received: {list(given) if isinstance(sample, dict) else len(given)}."
    )


def _check_given(name, x):
    """Raise a `ValueError` unless an entry of a sample is an array."""
    where = f" at {name!r}" if name else ""
    if uneven := is_uneven(x):
        raise ValueError(
            f"`sample` must contain dense arrays. Received: a {uneven}{where}. "
            "Pad its rows to one length."
        )
    if not hasattr(x, "__array__"):
        raise ValueError(
            "`sample` must be an array, or a list or dictionary of arrays. "
            f"Received: {x!r:.80}{where}. Convert nested lists with np.array, "
            "and leave out None."
        )


def _as_array(name, x):
    x = np.asarray(x)
    if x.dtype == object and not all(
        isinstance(y, str | bytes) for y in x.flat
    ):
        raise ValueError(
            "`sample` must contain arrays of numbers or of strings. Received: "
            f"`{name}` with {x.flat[0]!r:.80}. Pad rows to the same length."
        )
    return x.astype(keras.config.floatx()) if x.dtype == "float64" else x


def _fitted(name, x, declared):
    """Return an array with the declared type, or raise an error."""
    needs = f"`sample` must fit the input `{name}` of the model"
    way_out = "The first axis is the batch axis."
    check_shape(needs, "sample", x.shape, declared.shape, way_out)
    is_text = declared.dtype == "string"
    found = x.astype(object if is_text else declared.dtype)
    if x.dtype.kind == "f" and found.dtype.kind != "f" and (found != x).any():
        raise ValueError(
            f"`sample` must fit the model, whose input `{name}` has the type "
            f"{declared.dtype}. Received: {x[found != x][0]}, in an array of "
            f"{x.dtype}. Pass values of {declared.dtype}."
        )
    return found


def _check_array(name, x):
    if x.ndim == 0 or x.size == 0:
        raise ValueError(
            "`sample` must have at least one row, and no axis of size 0. "
            f"Received: `{name}` of shape {x.shape}. Add a batch axis, x[None]."
        )
    if not WRITABLE.fullmatch(name) or keyword.iskeyword(name):
        raise ValueError(
            "Names of inputs must consist of the letters A to Z, digits, `_`, "
            "`-`, `.` and `/`, and must not be Python keywords. Received: "
            f"{name!r}. Rename the input, as in keras.Input(..., "
            "name='words')."
        )


def _output_names(model, found) -> list[str]:
    """Return the names of the outputs of a model: keys, layers, or numbers."""
    paths = [path for path, _ in keras.tree.flatten_with_path(found)]
    names = getattr(model, "output_names", None)
    if isinstance(found, dict):
        names = ["_".join(map(str, path)) for path in paths]
    elif isinstance(model, keras.Sequential):
        names = [model.layers[-1].name]
    if names is None or len(names) != len(paths):
        names = [f"output_{i}" for i in range(len(paths))]
    unique = []
    for name in names:  # a layer may have several outputs
        new, count = name, 0
        while new in unique:
            count += 1
            new = f"{name}_{count}"
        unique.append(new)
    return unique


def _arrays(outputs):
    return {k: keras.ops.convert_to_numpy(x) for k, x in outputs.items()}


def _is_finite(outputs):
    """Return whether no array is empty or contains NaN or infinity."""
    numbers = [x for x in outputs.values() if x.dtype.kind in "bif"]
    return all(x.size and np.isfinite(x).all() for x in numbers)


def _shapes(arrays):
    return {name: (x.shape, x.dtype.name) for name, x in arrays.items()}
