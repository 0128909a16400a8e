"""Checks that a file gives what the model gives, up to rounding."""

import math
from collections.abc import Callable
from collections.abc import Iterable

import numpy as np
import tensorflow as tf

from keras_attention.export.ids import IDS
from keras_attention.models import Seq2Seq
from keras_attention.search import AbstractSearch
from keras_attention.search.step import ID_OPTIONS
from keras_attention.text.base import END
from keras_attention.text.base import SPECIAL_NAMES
from keras_attention.text.base import START
from keras_attention.text.base import UNKNOWN

LENGTHS = ((6,), (9, 4, 2), (2, 3, 5, 7))  # of the rows in each batch
TOLERANCE = 1e-4


def probe_sources(vocabulary_size: int) -> list[np.ndarray]:
    """Draw sources to try a file on, the same ones every time.

    Args:
        vocabulary_size: How many ids the source has.

    Returns:
        Batches of ids `(B, T)`, as tokenizers frame and pad them.
    """
    draw = np.random.default_rng(0)
    words = [UNKNOWN, *range(len(SPECIAL_NAMES), vocabulary_size)]
    batches = []
    for lengths in LENGTHS:
        batch = np.zeros((len(lengths), max(lengths)), np.int32)
        for row, length in zip(batch, lengths, strict=True):
            row[:length] = [START, *draw.choice(words, length - 2), END]
        batches.append(batch)
    return batches


def check_answers(
    made: str,
    model: Seq2Seq,
    search: AbstractSearch,
    sources: list[np.ndarray],
    answers: list[dict[str, np.ndarray]],
    exact: bool = True,
):
    """Raise an error unless a file's answers are those of the model.

    Where two words are almost equally likely, rounding decides between them,
    and another text follows. So a row may differ if the model gives the other
    text the same score as the file. At least half of the rows must be equal.

    Args:
        made: What was written, such as `"LiteRT file"`.
        model: A `Seq2Seq`.
        search: A search strategy.
        sources: Batches of ids `(B, T)`.
        answers: The file's `tokens (B, N, T)` and `scores (B, N)` for each
            batch.
        exact: Whether to compare values. Of a quantized model only shapes and
            types are compared. Defaults to `True`.

    Raises:
        RuntimeError: If they differ.
    """

    def generate(ids):
        return model.generate(ids, search)[:2]

    generate = _trace(generate, IDS)
    same = []
    for ids, answer in zip(sources, answers, strict=True):
        wanted = [x.numpy() for x in generate(tf.constant(ids))]
        wanted = {
            "tokens": wanted[0],
            "scores": wanted[1].astype(np.float32),
        }
        for name, value in wanted.items():
            _check_form(made, name, answer[name], value)
        if exact:
            equal = (answer["tokens"] == wanted["tokens"]).all(axis=(1, 2))
            truth = wanted["scores"]
            if not equal.all():
                scored = _score_texts(model, search, ids, answer["tokens"])
                kept = equal[:, None] | np.isneginf(truth)
                truth = np.where(kept, truth, scored)
            if not _close(answer["scores"], truth):
                _fail(made, "scores", answer["scores"], truth)
            same.extend(equal)
    if exact and 2 * sum(same) < len(same):
        _fail(made, "tokens", answers[-1]["tokens"], wanted["tokens"])


def check_texts(
    made: str,
    wanted: Iterable[dict[str, tf.Tensor]],
    answers: list[dict[str, np.ndarray]],
    exact: bool = True,
):
    """Raise an error unless a file's texts are those of the model.

    As in `check_answers`, at least half of the rows must be equal.

    Args:
        made: What was written, such as `"LiteRT file"`.
        wanted: The model's `translations (B, N)` and `scores (B, N)` for each
            batch.
        answers: Those of the file.
        exact: Whether to compare values, not only shapes and types. Defaults
            to `True`.

    Raises:
        RuntimeError: If they differ.
    """
    same = []
    for truth, answer in zip(wanted, answers, strict=True):
        truth = {name: x.numpy() for name, x in truth.items()}
        texts, scores = answer["translations"], answer["scores"]
        _check_form(made, "scores", scores, truth["scores"])
        if texts.shape != truth["translations"].shape:
            _fail(made, "translations", texts, truth["translations"])
        equal = (texts == truth["translations"]).all(axis=1)
        if exact and not _close(scores[equal], truth["scores"][equal]):
            _fail(made, "scores", scores, truth["scores"])
        same.extend(equal)
    if exact and 2 * sum(same) < len(same):
        _fail(made, "translations", texts, truth["translations"])


def _score_texts(model, search, ids, tokens):
    """Score given texts `(B, N, T)` by the model: `(B, N)`."""

    def score(ids, path):
        found = model.generate(ids, follow(search), path)
        return found.scores[:, 0]

    score = _trace(score, IDS, IDS)
    ids, paths = tf.constant(ids), tf.unstack(tf.constant(tokens), axis=1)
    return np.stack([score(ids, path).numpy() for path in paths], axis=1)


def follow(search: AbstractSearch) -> Callable:
    """Make a search that finds a given text, the prefix that it gets.

    All other words get the log probability `-inf`, also behind the text.

    Args:
        search: The search strategy that gives the score.

    Returns:
        A function that is called like a search, and has the ids of this one.
    """

    def follow_path(step, state, batch_size, memory_mask=None, prefix=None):
        def step_on_path(tokens, state):
            position, state = state  # (B, K)
            log_probs, state, weights = step(tokens, state)
            at = tf.minimum(position, tf.shape(prefix)[1] - 1)
            words = tf.gather(prefix, at, batch_dims=1)  # (B, K)
            classes = tf.range(tf.shape(log_probs)[-1])
            forced = tf.where(classes == words[..., None], log_probs, -math.inf)
            return forced, (position + 1, state), weights

        positions = tf.zeros((batch_size, 1), tf.int32)
        state = (positions, state)
        return search(step_on_path, state, batch_size, memory_mask)

    for name in ID_OPTIONS:
        setattr(follow_path, name, getattr(search, name))
    return follow_path


def _trace(function, *signature):
    traced = tf.function(function, autograph=False)
    return traced.get_concrete_function(*signature)


def _check_form(made, name, given, wanted):
    form = (given.shape, given.dtype)
    if form != (wanted.shape, wanted.dtype) or np.isnan(given).any():
        _fail(made, name, given, wanted)


def _close(x, y):
    return np.allclose(x, y, rtol=TOLERANCE, atol=TOLERANCE)


def _fail(made, name, given, wanted):
    raise RuntimeError(
        f"The {made} gives other `{name}` than the model. Received: "
        f"{given.tolist()}, wanted: {wanted.tolist()}. Nothing was written. "
        "Please report this."
    )
