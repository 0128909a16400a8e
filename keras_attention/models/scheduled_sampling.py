"""Scheduled sampling: training inputs that the model itself has predicted."""

import keras
from keras import ops

from keras_attention.ops import loop_over_time
from keras_attention.ops.replicas import own_seed
from keras_attention.search import draw_tokens


def feed_guesses(step, states, target, probability, seed_generator):
    """Replace target words by words drawn from the model's predictions.

    The decoder runs word by word, as in a search. With the given probability
    the next input is not the target word but a word drawn from the model's
    distribution after all inputs before it. No gradient flows through the
    drawn words: training on the result is teacher forcing with other inputs.

    Args:
        step: Step function `step(tokens, states)`, as a search calls it.
        states: List of the states before the first step.
        target: Ids `(B, T)`. The first id of a row and padding stay.
        probability: Scalar tensor: probability of replacing each other id.
        seed_generator: A `keras.random.SeedGenerator`.

    Returns:
        Ids `(B, T)`, in the dtype of `target`. If the probability is 0, it is
        `target`, and the decoder does not run.

    Reference:
        [Bengio et al., 2015](https://arxiv.org/abs/1506.03099), section 2.4.
    """
    if 0 in tuple(target.shape):  # torch draws no row of no rows
        return target
    shape = (2, *ops.shape(target)[::-1])  # (2, T, B)
    luck = keras.random.uniform(shape, seed=own_seed(seed_generator))
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
        steps, rows = ops.shape(words)
        no_guess = ops.zeros((rows,), "int32")
        _, (inputs,) = loop_over_time(
            feed,
            [no_guess, *states],
            [words, luck[0], luck[1]],
            [no_guess],
            steps,
        )
        return inputs

    inputs = ops.cond(probability > 0, fed, lambda: words)
    return ops.cast(ops.swapaxes(inputs, 0, 1), target.dtype)
