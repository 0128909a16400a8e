"""The base of all alignments, which turn scores into weights."""

import keras

from keras_attention.alignments.reading import AbstractReading
from keras_attention.checks import check_built
from keras_attention.checks import missing_method
from keras_attention.checks import refuse_to_stream
from keras_attention.layers import AbstractConfigured
from keras_attention.ops.positions import count_positions

BUILD = "Call `super().build(...)` in the `build` of the attention layer."
DECIDED = (
    "Use Monotonic(mode='hard'), ChunkwiseAttention with it, or LocalMonotonic."
)


class AbstractAlignment(AbstractConfigured, keras.layers.Layer):
    """Turns the scores of an attention layer into weights.

    An alignment belongs to an attention layer: the layer builds it, sets its
    dtype, saves it, carries its state from step to step, and draws its noise
    before the loop. A subclass defines `align`. If needed, it also defines
    `build`, `first_state` and `draw_noise`, and, if its state depends on
    values, `observe`. Register the subclass with Keras, and pass an instance as
    `alignment`.

    Args:
        **kwargs: Keras layer arguments, such as `name`.
    """

    state_count = 0  # number of tensors that `first_state` returns
    needs_end = "may attend to positions up to the end of the source"
    noisy = False  # whether `draw_noise` returns anything

    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def build(self, query_shape, value_shape):
        pass

    def check_built(self, method: str):
        """Raise a `ValueError` if the alignment is not built."""
        check_built(self, method, BUILD)

    def first_state(self, real) -> tuple:
        """Return the state before the first step.

        Args:
            real: `(B, K, Tv)`, 1.0 at valid positions, 0.0 at padding.

        Returns:
            Tuple of `state_count` tensors `(B, K, ...)`.
        """
        return ()

    def draw_noise(self, shape, dtype, seed):
        """Draw the noise of all steps.

        Args:
            shape: `(steps, B, K, Tv)`.
            dtype: Dtype of the noise.
            seed: A `keras.random.SeedGenerator`.

        Returns:
            A tensor of that shape, or `None` if `align` needs no noise.
        """
        return None

    def harden(self) -> list[str]:
        """Switch to a mode that puts all weight on one position, if any.

        Returns:
            Descriptions of the changes; an empty list if nothing changed.
        """
        return []

    def reading(self) -> AbstractReading:
        """Return how to read a source that arrives in parts.

        Returns:
            An `AbstractReading` that creates the alignment's state.

        Raises:
            ValueError: If weights depend on the end of the source, which is the
                default for subclasses.
        """
        received = f"alignment={type(self).__name__}"
        refuse_to_stream(received, self.needs_end, DECIDED)

    def align(self, scores, mask, state, noise, query, lengths) -> tuple:
        """Turn the scores of one step into weights.

        An alignment without a state may also receive the scores of all steps at
        once, with time on axis 1.

        Args:
            scores: `(B, K, Tv)`, in float32 or wider.
            mask: Boolean that broadcasts to `scores`, `True` at positions
                that may get a weight, or `None` for all.
            state: Tuple of tensors `(B, K, ...)`, from `first_state` or the
                previous step.
            noise: The slice `(B, K, Tv)` for this step of what `draw_noise`
                returned, or `None`.
            query: `(B, K, Dq)`.
            lengths: Number of valid positions of each source, `(B, 1, 1)`, in
                the dtype of `scores`.

        Returns:
            Weights `(B, K, Tv)`, 0 where masked, and the next state.
        """
        raise missing_method(self.align)

    def align_source(self, scores, mask, state, noise, query, real) -> tuple:
        """Call `align`, given which positions are valid.

        Override this method if the alignment counts positions from the
        beginning of a source, because padding on the left moves this beginning.

        Args:
            scores: As in `align`.
            mask: As in `align`.
            state: As in `align`.
            noise: As in `align`.
            query: As in `align`.
            real: Boolean `(B, Tv)`, `True` at valid positions, or `None` for
                all.

        Returns:
            What `align` returns.
        """
        lengths = count_positions(real, scores)
        return self.align(scores, mask, state, noise, query, lengths)

    def observe(self, state, query, weights, values) -> tuple:
        """Return the next state, after the weights of a step are known.

        Args:
            state: The next state that `align` returned.
            query: `(B, K, Dq)`.
            weights: The weights that `align` returned, `(B, K, Tv)`.
            values: `(B, Tv, Dv)`, 0 at padding.

        Returns:
            Tuple of `state_count` tensors `(B, K, ...)`.
        """
        return state
