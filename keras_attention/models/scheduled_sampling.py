"""Scheduled sampling: what is fed in training is sometimes a guess."""

import keras
from keras import ops

from keras_attention.ops import loop_over_time
from keras_attention.search.drawing import draw_tokens


def feed_guesses(step, states, target, probability, seed_generator):
    """Replace words of a target by what the model itself would say there.

    The words are fed one by one, as in a search; each next one is, with the
    given probability, drawn from the model after all that was fed before it.
    What comes out is known: the gradient of training on it is that of
    teacher forcing, as a drawn word has none.

    Args:
        step: As `next_word` gives it,
        states: and its first states.
        target: Ids `(B, T)`. The first of a row always stays, as does padding.
        probability: Scalar tensor, of each other word by itself.
        seed_generator: A `keras.random.SeedGenerator`.

    Returns:
        Ids `(B, T)`, in the dtype of `target`; `target` if the probability is
        0, for which nothing is run.

    Reference:
        [Bengio et al., 2015](https://arxiv.org/abs/1506.03099), section 2.4.
    """
    shape = (2, *ops.shape(target)[::-1])  # (2, T, B)
    luck = keras.random.uniform(shape, seed=seed_generator)
    words = ops.swapaxes(ops.cast(target, "int32"), 0, 1)  # (T, B)

    def feed(carry, inputs):
        guess, *before = carry
        word, coin, drawn = inputs
        is_guess = ops.logical_and(coin < probability, guess > 0)
        is_guess = ops.logical_and(is_guess, word > 0)
        word = ops.where(is_guess, guess, word)  # (B,)
        log_probs, after, _ = step(ops.expand_dims(word, 1), before)
        guess = draw_tokens(log_probs, ops.reshape(drawn, (-1, 1, 1)))
        after = [
            ops.cast(x, y.dtype) for x, y in zip(after, before, strict=True)
        ]
        return [ops.squeeze(guess, 1), *after], [word]

    def fed():
        _, (found,) = loop_over_time(
            feed,
            [words[0], *states],
            [words, luck[0], luck[1]],
            [ops.zeros_like(words[0])],
            ops.shape(words)[0],
        )
        return found

    found = ops.cond(probability > 0, fed, lambda: words)
    return ops.cast(ops.swapaxes(found, 0, 1), target.dtype)
