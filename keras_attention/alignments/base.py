"""What all alignments do: scores in, weights out, and a state in between."""

import keras


class AbstractAlignment(keras.layers.Layer):
    """Turns the scores of an attention layer into weights.

    It is a part of its layer: the layer builds it, gives it its dtype, saves
    it, carries its state from step to step, and draws its noise before the
    loop. To write one, define `align` and what else it needs of the methods
    here; register the class, and pass an object of it as `alignment`.

    `align(scores, mask, state, noise, query, lengths)` gets

    - scores: `(B, K, Tv)`, in float32 or wider.
    - mask: Boolean that broadcasts to `scores`, `True` at positions that may
      get a weight, or `None` for all.
    - state: Tuple of tensors `(B, K, ...)`, as the step before returned it.
    - noise: One step of what `draw_noise` gave, `(B, K, Tv)`, or `None`.
    - query: `(B, K, Dq)`.
    - lengths: Numbers of real positions, `(B, 1, 1)`, as floats.

    and returns the weights `(B, K, Tv)`, 0 where masked, and the next state.
    Without a state, axis 1 may be the time.

    Args:
        **kwargs: Keras layer arguments, such as `name`.
    """

    state_count = 0  # how many tensors `first_state` gives
    noisy = False  # whether `draw_noise` gives anything

    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def build(self, query_shape, value_shape):
        pass

    def first_state(self, real):
        """Give the state before the first step.

        Args:
            real: `(B, K, Tv)`, 1.0 at real positions, 0.0 at padding.
        """
        return ()

    def draw_noise(self, shape, dtype, seed):
        """Draw what `align` needs at random for all steps.

        Args:
            shape: `(steps, B, K, Tv)`.
            dtype: Of the result.
            seed: A `keras.random.SeedGenerator`.
        """
        return None

    def align(self, scores, mask, state, noise, query, lengths):
        raise NotImplementedError(
            f"{type(self).__name__} must define `align(scores, mask, state, "
            "noise, query, lengths)`, from scores (B, K, Tv) to weights and "
            "the next state."
        )
