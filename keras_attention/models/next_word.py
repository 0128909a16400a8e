"""The step function of a model, as searches call it."""

import functools
import math
from collections.abc import Callable

from keras import ops
from keras import tree

from keras_attention.models.shortlisted import ListedWords
from keras_attention.ops import hoisting
from keras_attention.ops import widen
from keras_attention.ops.rows import reshaped
from keras_attention.search import Generation
from keras_attention.search import ban


def search_words(
    model,
    source,
    search,
    prefix=None,
    attends: bool = True,
    shortlist=None,
    **options,
) -> Generation:
    """Search the words that a model writes for a source.

    Args:
        model: A `Seq2Seq`.
        source: Ids `(B, Tv)`, or features `(B, Tv, D)`.
        search: A search strategy, or a function like one.
        prefix: Ids `(B, P)`, or `None`.
        attends: Whether to keep the weights. Defaults to `True`.
        shortlist: A `Shortlist` that fits the model, or `None`. Defaults to
            `None`.
        **options: What the search takes in its call beside these.

    Returns:
        A `Generation`.
    """
    encoded = model.encode(source, training=False)
    never = {0, getattr(search, "start_id", 0)}
    never -= {getattr(search, "end_id", None)}
    keep = attends or getattr(search, "reads_weights", True)
    listed = None
    if shortlist is not None:
        listed = ListedWords(model, shortlist, search, source, prefix)
        prefix = listed.prefix
    step, states = next_word(
        model, source, *encoded, sorted(never), keep, True, listed
    )
    rows = ops.shape(source)[0]
    found = search(
        step,
        states,
        rows,
        memory_mask=encoded[2],
        prefix=prefix,
        **options,
    )
    if listed is not None:
        found = found._replace(tokens=listed.read(found.tokens))
    return found if attends else found._replace(weights=None)


def next_word(
    model,
    source,
    memory,
    states,
    mask,
    never=(),
    attends: bool = True,
    hoists: bool = False,
    listed: ListedWords | None = None,
) -> tuple:
    """Prepare a source, and return the step function that scores next words.

    Args:
        model: A `Seq2Seq`.
        source: Ids `(B, Tv)`, or features `(B, Tv, D)`.
        memory: The encoded source, `(B, Tv, Dv)`.
        states: List of the decoder's initial states, or `None`.
        mask: Boolean `(B, Tv)`, `True` at real positions, or `None`.
        never: Ids that get probability 0. Defaults to `()`.
        attends: Whether the step returns weights. Defaults to `True`.
        hoists: Whether to compute what is the same at every step once, when
            the step is called before its loop. Such a loop has no gradient.
            Defaults to `False`.
        listed: The words that may come, whose numbers the step takes and
            scores; `None` for all. Defaults to `None`.

    Returns:
        `step(tokens, states)`, as an `AbstractSearch` calls it, and the
        initial states. Its weights are those of the cell's attention, or
        their mean if there are several.
    """
    prepared = model.decoder.cell.prepare(memory, mask)
    mix = None
    if model.copying:
        copies = model.pointer_generator.prepare(source)
        mix = functools.partial(
            model.pointer_generator.mix, copies=copies, impossible=-math.inf
        )
    lexicon = model.lexicon(source, training=False)
    step = word_step(
        model, prepared, never, attends, hoists, mix, listed, lexicon
    )
    return step, model.decoder.cell.initial_state(prepared, states, beams=1)


def word_step(
    model,
    prepared,
    never=(),
    attends: bool = True,
    hoists: bool = False,
    mix: Callable | None = None,
    listed: ListedWords | None = None,
    lexicon=None,
) -> Callable:
    """Return the step function that scores next words.

    Args:
        model: A `Seq2Seq`.
        prepared: What `prepare` of its decoder's cell returned.
        never: As in `next_word`.
        attends: As in `next_word`.
        hoists: As in `next_word`.
        mix: Function that adds copied words, as in `score_words`. Defaults to
            `None`, no copies.
        listed: As in `next_word`.
        lexicon: The embedded source `(B, Tv, E)` of a lexical model, else
            `None`. Defaults to `None`.

    Returns:
        `step(tokens, states)`, with tokens `(B, K)`, or `(B,)` for states
        without beams.
    """
    cell = model.decoder.cell

    def score(output, words, weights):
        if listed is not None:
            return listed.logits(output, mean(weights), lexicon)
        if mix is not None:
            return model.score_words(output, words, weights, mix, lexicon)
        # As rows: Keras' product of more axes takes a dozen operations more.
        logits = model.logits(ops.reshape(output, (-1, output.shape[-1])))
        shape = *ops.shape(output)[:-1], logits.shape[-1]
        return model.add_lexicon(reshaped(logits, shape), weights, lexicon)

    def step(tokens, states):
        ids = tokens if listed is None else listed.read(tokens)
        words = model.embed_target(ids)  # (B, K, E)
        output, weights, states = cell.step(words, states, prepared, False)
        logits = score(output, words, weights)
        log_probs = ops.log_softmax(widen(logits), axis=-1)
        if never:
            log_probs = ban(log_probs, never)
        return log_probs, states, mean(weights) if attends else None

    if not hoists:
        return step
    memories = [x for x in tree.flatten(prepared) if x is not None]
    variables = cell.variables + model.target_embedding.variables
    return hoisting(step, [*variables, *memories])


def mean(weights):
    """Average a list of weights, one of each attention; else return them."""
    return sum(weights) / len(weights) if isinstance(weights, list) else weights
