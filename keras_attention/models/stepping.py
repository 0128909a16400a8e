"""A model's next word, in the form that a search takes."""

import math

from keras import ops

from keras_attention.ops import widen


def next_word(model, source, memory, states, mask):
    """Prepare a source, to be asked for one word after the other.

    Args:
        model: A `Seq2Seq`.
        source: What was encoded.
        memory: The first of what `model.encode(source)` gave,
        states: the second,
        mask: and the third.

    Returns:
        `step(tokens, states)`, as an `AbstractSearch` calls it, and the first
        states. Its weights are those of the cell's attention, or the mean
        over them if there are several.
    """
    cell = model.decoder.cell
    prepared = cell.prepare(memory, mask)
    copies = None
    if model.copying:
        copies = model.pointer_generator.prepare(source)

    def step(tokens, states):
        words = model.embed_target(tokens)  # (B, K, E)
        output, weights, states = cell.step(words, states, prepared, False)
        weights = mean(weights)
        logits = model.logits(output)
        if copies is not None:
            features = ops.concatenate([output, words], axis=-1)
            logits = model.pointer_generator.mix(
                logits, features, weights, copies, impossible=-math.inf
            )
        return ops.log_softmax(widen(logits), axis=-1), states, weights

    return step, cell.initial_state(prepared, states, beams=1)


def mean(weights):
    """Make one of the weights of several attentions."""
    return sum(weights) / len(weights) if isinstance(weights, list) else weights
