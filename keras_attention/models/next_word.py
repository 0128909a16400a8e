"""A model's next word, in the form that a search takes."""

import functools
import math

from keras import ops

from keras_attention.ops import widen
from keras_attention.search import ban


def next_word(model, source, memory, states, mask, never=()):
    """Prepare a source, to be asked for one word after the other.

    Args:
        model: A `Seq2Seq`.
        source: What was encoded.
        memory: The first of what `model.encode(source)` gave,
        states: the second,
        mask: and the third.
        never: Ids that are given no probability. Defaults to `()`.

    Returns:
        `step(tokens, states)`, as an `AbstractSearch` calls it, and the first
        states. Its weights are those of the cell's attention, or the mean
        over them if there are several.
    """
    cell = model.decoder.cell
    prepared = cell.prepare(memory, mask)
    mix = None
    if model.copying:
        copies = model.pointer_generator.prepare(source)
        mix = functools.partial(
            model.pointer_generator.mix, copies=copies, impossible=-math.inf
        )

    def step(tokens, states):
        words = model.embed_target(tokens)  # (B, K, E)
        output, weights, states = cell.step(words, states, prepared, False)
        logits = model.score_words(output, words, weights, mix)
        log_probs = ops.log_softmax(widen(logits), axis=-1)
        if never:
            log_probs = ban(log_probs, never)
        return log_probs, states, mean(weights)

    return step, cell.initial_state(prepared, states, beams=1)


def mean(weights):
    """Average the weights of several attentions; those of one stay."""
    return sum(weights) / len(weights) if isinstance(weights, list) else weights
