"""Check that an exported file gives the same results as the model."""

import functools
from collections.abc import Iterable
from typing import NoReturn

import numpy as np
import tensorflow as tf

from keras_attention.export.ids import as_source
from keras_attention.export.ids import chosen
from keras_attention.export.ids import input_specs
from keras_attention.models import Seq2Seq
from keras_attention.search import AbstractSearch
from keras_attention.steps.primitives import END
from keras_attention.steps.primitives import SPECIAL_NAMES
from keras_attention.steps.primitives import START
from keras_attention.steps.primitives import UNKNOWN

TEXTS = tf.TensorSpec((None, None), tf.int32, "texts")
# Batches `(B, T)` that double at one length, and then shrink and grow, find
# what a runtime keeps from one call to the next.
SHAPES = (
    *((1, 12), (2, 12), (4, 12), (8, 12), (16, 12)),
    *((1, 5), (3, 24), (9, 24), (2, 3)),
)
TOLERANCE = 1e-4
NEAR = 0.1  # of the range of values


def probe_sources(vocabulary_size: int | tuple[int, ...]) -> list[np.ndarray]:
    """Draw reproducible sources to test a file with.

    Args:
        vocabulary_size: The source vocabulary size, or one per tokenizer.

    Returns:
        Batches of ids `(B, T)` or `(B, T, M)`, framed and padded like the
        output of tokenizers.
    """
    if isinstance(vocabulary_size, tuple):
        columns = [probe_sources(x) for x in vocabulary_size]
        return [np.stack(x, axis=-1) for x in zip(*columns, strict=True)]
    draw = np.random.default_rng(0)
    words = [UNKNOWN, *range(len(SPECIAL_NAMES), vocabulary_size)]
    batches = []
    for rows, longest in SHAPES:
        batch = np.zeros((rows, longest), np.int32)
        lengths = [longest, *draw.integers(2, longest + 1, rows - 1)]
        for row, length in zip(batch, lengths, strict=True):
            row[:length] = [START, *draw.choice(words, length - 2), END]
        batches.append(batch)
    return batches


def probe_inputs(model: Seq2Seq) -> list[dict[str, np.ndarray]]:
    """Draw reproducible model inputs to test a file with.

    Args:
        model: A model of ids or of features.

    Returns:
        Batches of the inputs that `input_specs` describes, by name.
    """
    specs = input_specs(model)
    if model.source_vocabulary_size is not None:
        batches = probe_sources(model.source_vocabulary_size)
        return [{"source_ids": ids} for ids in batches]
    draw, batches = np.random.default_rng(0), []
    for rows, length in SHAPES:
        size = [length if n is None else n for n in specs[0].shape[1:]]
        x = draw.normal(size=(rows, *size)).astype(specs[0].dtype.name)
        lengths = [[size[0]], *draw.integers(1, size[0] + 1, (rows - 1, 1))]
        columns = x, np.arange(size[0]) < np.array(lengths)
        batches.append(
            {spec.name: x for spec, x in zip(specs, columns, strict=False)}
        )
    return batches


def check_answers(
    made: str,
    model: Seq2Seq,
    search: AbstractSearch,
    sources: list[dict[str, np.ndarray]],
    answers: list[dict[str, np.ndarray]],
    exact: bool = True,
):
    """Raise an error unless a file generates the same ids as the model.

    If two tokens are almost equally likely, rounding errors decide between
    them, and the rest of the sequence can differ. Therefore, a row may differ
    if the model gives the other sequence the same score as the file. At least
    half of the rows must be equal.

    Args:
        made: The kind of file, such as `"LiteRT file"`.
        model: A `Seq2Seq`.
        search: A search strategy.
        sources: The result of `probe_inputs`.
        answers: `tokens (B, N, T)`, `scores (B, N)` and other outputs of the
            file, for each batch.
        exact: Whether to compare values. For a quantized model, only shapes
            and types are compared. Defaults to `True`.

    Raises:
        RuntimeError: If they differ.
    """
    own, outputs = input_specs(model), [*answers[0]]

    def run(*given):
        columns, prefix = given[: len(own)], given[len(own) :] or [None]
        found = model.generate(as_source(columns), search, *prefix)
        found = {**found._asdict(), "attention": found.weights}
        return chosen(found, outputs)

    @functools.cache
    def traced(*inputs):
        function = tf.function(run, inputs, autograph=False)
        return function.get_concrete_function()

    def score(batch, tokens):
        """Score sequences `(B, N, T)` with the model, each as a full prefix."""
        columns, texts = columns_of(sources[batch]), tf.unstack(tokens, axis=1)
        run = traced(*own, TEXTS)
        found = [run(*columns, text)["scores"] for text in texts]
        return np.stack([x[:, 0] for x in found], axis=1)

    def columns_of(source):
        return [tf.constant(source[spec.name]) for spec in own]

    wanted = (traced(*own)(*columns_of(source)) for source in sources)
    _compare(made, "tokens", wanted, answers, exact, score)


def check_texts(
    made: str,
    wanted: Iterable[dict[str, tf.Tensor]],
    answers: list[dict[str, np.ndarray]],
    exact: bool = True,
):
    """Raise an error unless a file generates the same texts as the model.

    As in `check_answers`, at least half of the rows must be equal. Other
    outputs must have the same shape and type, and the same values in batches
    whose texts are all equal.

    Args:
        made: The kind of file, such as `"LiteRT file"`.
        wanted: `translations (B, N)`, `scores (B, N)` and other outputs of
            the model, for each batch.
        answers: The same outputs of the file.
        exact: Whether to compare values, not only shapes and types. Defaults
            to `True`.

    Raises:
        RuntimeError: If they differ.
    """
    _compare(made, "translations", wanted, answers, exact)


def _compare(made, name, wanted, answers, exact, score=None):
    """Compare scores, the texts in `name` and the other outputs of batches.

    For rows with other texts, the scores are those of `score(batch, texts)`,
    if it is given.
    """
    same = []
    for batch, (found, answer) in enumerate(zip(wanted, answers, strict=True)):
        found = {key: _wide(x.numpy()) for key, x in found.items()}
        for key in (name, *found):
            x, y = answer[key], found[key]
            if (x.shape, x.dtype) != (y.shape, y.dtype) or (x != x).any():
                # What is not itself is NaN.
                fail(made, key, x.tolist(), y.tolist())
        texts, truth = answer[name], found[name]
        given, scores = answer["scores"], found["scores"]
        if not exact:
            continue
        equal = (texts == truth).reshape(len(texts), -1).all(axis=1)
        other = ~equal[:, None] & ~np.isneginf(scores)
        if other.any():
            new = given if score is None else score(batch, texts)
            scores = np.where(other, new, scores)
        if not np.allclose(given, scores, rtol=TOLERANCE, atol=TOLERANCE):
            fail(made, "scores", given.tolist(), scores.tolist())
        same.extend(equal)
        for key in found if all(equal) else ():
            if not close(answer[key], found[key]):
                fail(made, key, answer[key].tolist(), found[key].tolist())
    if exact and 2 * sum(same) < len(same):
        fail(made, name, texts.tolist(), truth.tolist())


def _wide(x):
    return x.astype(np.float32) if x.dtype.kind == "f" else x


def check_equal(
    made: str,
    wanted: list[dict[str, np.ndarray]],
    answers: list[dict[str, np.ndarray]],
    exact: bool = True,
    tolerance: float = TOLERANCE,
    draws: bool = False,
):
    """Raise an error unless a file gives the same outputs as the model.

    Args:
        made: The kind of file, such as `"LiteRT file"`.
        wanted: The model's outputs by name, for each batch.
        answers: The file's outputs by name, for each batch.
        exact: Whether to compare values, not only shapes and types. Defaults
            to `True`.
        tolerance: Absolute and relative tolerance for floats; for half
            precision, at least its resolution. Defaults to `TOLERANCE`.
        draws: Whether the model draws random numbers. Defaults to `False`.

    Raises:
        ValueError: If they differ.
    """
    way_out = "Try another format, or fix the sizes of the model's inputs."
    if draws:
        way_out = "The model draws random numbers, so it cannot be compared: "
        way_out += "remove layers that do so outside of training."
    for truth, given in zip(wanted, answers, strict=True):
        for name, y in truth.items():
            x = given.get(name)
            if reason := _difference(x, y, exact, tolerance):
                raise ValueError(
                    f"The {made} returns other `{name}` than the model: "
                    f"{reason}. Nothing was written. {way_out}"
                )


def check_near(
    made: str,
    wanted: list[dict[str, np.ndarray]],
    answers: list[dict[str, np.ndarray]],
):
    """Raise an error unless a file's floats are close to those of the model.

    Args:
        made: The kind of file, such as `"LiteRT file"`.
        wanted: The model's outputs by name, for each batch.
        answers: The file's outputs by name, for each batch.

    Raises:
        ValueError: If the mean difference in a batch exceeds a tenth of the
            range of all values.
    """
    for name, first in wanted[0].items():
        if first.dtype.kind != "f":
            continue
        values = np.concatenate([x[name].ravel() for x in wanted])
        pairs = zip(wanted, answers, strict=True)
        apart = max(np.abs(x[name] - y[name]).mean() for y, x in pairs)
        if not apart <= NEAR * np.ptp(values):
            raise ValueError(
                f"8 bits are too few for this model: in the {made}, `{name}` "
                f"differs by {apart:.2g} on average, for values from "
                f"{values.min():.2g} to {values.max():.2g}. Nothing was "
                "written. Use quantize='int8', which rounds only weights."
            )


def _difference(x, y, exact, tolerance) -> str:
    """Describe how an array of a file differs from that of the model, if so."""
    if x is None:
        return "none"
    if (x.shape, x.dtype) != (y.shape, y.dtype):
        return f"{x.dtype} {x.shape}, not {y.dtype} {y.shape}"
    if y.dtype.kind != "f":
        return "other values" * (exact and not np.array_equal(x, y))
    if (np.isnan(x) != np.isnan(y)).any():
        return "NaN, or none where the model has it"
    most = np.finfo(y.dtype).max  # to which kernels of LiteRT clip infinity
    x, y = (np.nan_to_num(np.clip(a, -most, most), nan=0.0) for a in (x, y))
    apart = np.abs(x - y)
    tolerance = max(tolerance, 10 * np.finfo(y.dtype).eps)
    if exact and (apart > tolerance * (1 + np.abs(y))).any():
        return f"they differ by up to {apart.max():.2g}"
    return ""


def close(x: np.ndarray, y: np.ndarray) -> bool:
    """Return whether arrays are equal, for floats up to rounding."""
    if x.dtype.kind == "f":
        close = {"rtol": TOLERANCE, "atol": TOLERANCE}
        return x.shape == y.shape and np.allclose(x, y, **close)
    return np.array_equal(x, y)


def fail(made: str, name: str, given: list, wanted: list) -> NoReturn:
    """Raise the `RuntimeError` for a file that returns something else.

    Args:
        made: The kind of file, such as `"LiteRT file"`.
        name: The name of the output.
        given: The output of the file.
        wanted: The output of the model.
    """
    raise RuntimeError(
        f"The {made} returns other `{name}` than the model. Received: {given}, "
        f"expected: {wanted}. Nothing was written. Please report this."
    )
