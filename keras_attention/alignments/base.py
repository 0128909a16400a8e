"""What all alignments do: scores in, weights out, and a state in between."""

import keras


class AbstractAlignment(keras.layers.Layer):
    """Turns the scores of an attention layer into weights.

    It is a part of its layer: the layer builds it, gives it its dtype, saves
    it, carries its state from step to step, and draws its noise before the
    loop. A subclass writes `align` and what else it needs of the methods
    here; it is registered with Keras, and an object of it is passed as
    `alignment`.

    Args:
        **kwargs: Keras layer arguments, such as `name`.
    """

    state_count = 0  # how many tensors `first_state` returns
    noisy = False  # whether `draw_noise` returns anything

    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def build(self, query_shape, value_shape):
        pass

    def first_state(self, real):
        """Return the state before the first step, tensors `(B, K, ...)`.

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
        """Turn the scores of one step, or of all, into weights.

        Args:
            scores: `(B, K, Tv)`, in float32 or wider. Without a state, axis 1
                may be the time.
            mask: Boolean that broadcasts to `scores`, `True` at positions
                that may get a weight, or `None` for all.
            state: Tuple of tensors `(B, K, ...)`, as the step before returned
                it.
            noise: One step of what `draw_noise` returned, `(B, K, Tv)`, or
                `None`.
            query: `(B, K, Dq)`.
            lengths: Numbers of real positions, `(B, 1, 1)`, as floats.

        Returns:
            Weights `(B, K, Tv)`, 0 where masked, and the next state.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define `align(scores, mask, state, "
            "noise, query, lengths)`, from scores (B, K, Tv) to weights and "
            "the next state."
        )
