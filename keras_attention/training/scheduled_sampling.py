"""Scheduled sampling: gradually replaces teacher forcing in training."""

from collections.abc import Callable

import keras

from keras_attention.backend import ops
from keras_attention.checks import check_function
from keras_attention.ops import loop_over_time
from keras_attention.ops.replicas import own_seed
from keras_attention.search import draw_tokens


class ScheduledSampling(keras.callbacks.Callback):
    """Increasingly feeds a decoder its own predictions, by a schedule.

    Formula:

        sampling_probability = 1 - schedule(i), before training step i

    A step is a batch. The callback reads the number of steps from the
    optimizer. Therefore, the schedule continues if you load a model with its
    optimizer, or call `fit` again. The last probability of each epoch is logged
    as `sampling_probability`.

    Bengio et al. propose three schedules, here with their symbols:

    - linear, from 1 to `epsilon` with slope `c`:
      `keras.optimizers.schedules.PolynomialDecay(1.0, (1 - epsilon) / c,
      epsilon)`
    - exponential, `k^i`: `keras.optimizers.schedules.ExponentialDecay(1.0, 1,
      k)`
    - inverse sigmoid: `InverseSigmoidSchedule(k)`

    Args:
        schedule: A function from the step, counted from 0, to the probability
            of using the correct token: a Keras schedule or any other function.

    Raises:
        ValueError: If `schedule` is not callable; in `fit`, if the model has no
            `sampling_probability`, or if `schedule` does not return a
            probability.

    Example:

    ```python
    model = Seq2Seq(scheduled_sampling=True, ...)
    schedule = InverseSigmoidSchedule(1000)
    model.fit(train, epochs=20, callbacks=[ScheduledSampling(schedule)])
    ```

    Reference:
        [Bengio et al., 2015](https://arxiv.org/abs/1506.03099), section 2.4.
    """

    def __init__(self, schedule: Callable):
        super().__init__()
        needed = (
            "a function from a step to the probability of the correct token"
        )
        way_out = "Try InverseSigmoidSchedule(1000), or `lambda step: 0.5`."
        check_function("schedule", schedule, needed, way_out)
        self.schedule = schedule
        self._steps = None  # before this epoch
        self._steps_of_epoch = 0
        self._probability = 0.0

    def on_train_begin(self, logs=None):
        if getattr(self.model, "sampling_probability", None) is None:
            raise ValueError(
                "ScheduledSampling needs a model with `scheduled_sampling`. "
                f"Received: model={self.model}. Create it with "
                "Seq2Seq(scheduled_sampling=True)."
            )
        self._steps = None

    def on_epoch_begin(self, epoch, logs=None):
        # Not earlier: `BackupAndRestore` loads them when training begins.
        if self._steps is None:
            iterations = self.model.optimizer.iterations
            self._steps = int(ops.convert_to_numpy(iterations))

    def on_train_batch_begin(self, batch, logs=None):
        step = self._steps + batch
        right = float(self.schedule(step))
        if not 0 <= right <= 1:
            raise ValueError(
                "`schedule` must return a probability from 0 to 1. Received: "
                f"schedule({step})={right}. For scheduled sampling, it starts "
                "at or near 1 and decreases."
            )
        self._probability = 1 - right
        self.model.sampling_probability.assign(self._probability)

    def on_train_batch_end(self, batch, logs=None):
        self._steps_of_epoch = batch + 1

    def on_epoch_end(self, epoch, logs=None):
        self._steps += self._steps_of_epoch
        if logs is not None:
            logs["sampling_probability"] = self._probability


def feed_guesses(step, states, target, probability, seed_generator):
    """Replace target tokens with tokens drawn from the model's predictions.

    The decoder runs token by token, as in a search. With the given probability,
    the next input is not the target token but a token drawn from the model's
    distribution given all previous inputs. No gradient flows through the drawn
    tokens: training on the result is teacher forcing with other inputs.

    Args:
        step: Step function `step(tokens, states)`, as a search calls it.
        states: List of the states before the first step.
        target: Ids `(B, T)`. The first id of a row and padding are kept.
        probability: Scalar tensor: probability of replacing each other id.
        seed_generator: A `keras.random.SeedGenerator`.

    Returns:
        Ids `(B, T)`, in the dtype of `target`. If the probability is 0, the
        result is `target`, and the decoder does not run.

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
