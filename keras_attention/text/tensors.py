"""The one door to TensorFlow for text, or to what stands in for it.

Where TensorFlow is not installed, its operations for text run on NumPy
arrays, and tokenizers give the same ids.
"""

import numpy as np

try:
    import tensorflow as tf
except ModuleNotFoundError as error:
    if error.name != "tensorflow":
        raise
    from keras_attention.text import arrays

    tf = arrays
    HAS_TENSORFLOW = False
else:
    HAS_TENSORFLOW = True


def rank(tensor) -> int | None:
    """Return the number of axes of a tensor.

    Args:
        tensor: A tensor, or an array where TensorFlow is not installed.

    Returns:
        The number, or `None` if a graph does not know it.
    """
    return tensor.shape.rank if HAS_TENSORFLOW else tensor.ndim


def as_list(strings) -> list[str]:
    """Return a tensor of strings as Python strings.

    Args:
        strings: Strings `(N,)`, valid UTF-8, outside of a graph.

    Returns:
        The strings.
    """
    return [as_text(string) for string in np.asarray(strings)]


def as_text(string: str | bytes) -> str:
    """Return an entry of a tensor of strings as a Python string.

    Args:
        string: What NumPy makes of it, valid UTF-8.

    Returns:
        The string.
    """
    return string.decode("utf-8") if isinstance(string, bytes) else string


def cut_out(text, starts, ends):
    """Cut pieces out of strings, in memory linear in the text.

    `tf.strings.substr` would need a copy of the whole string for each of its
    pieces: 10 GB for a string of 200,000 bytes and pieces of 4.

    It needs TensorFlow, as the tokenizers do that find pieces by their places.

    Args:
        text: Strings `(B,)`.
        starts: Where each piece begins, in bytes: ragged int64 `(B, None)`.
        ends: Where each piece ends, likewise.

    Returns:
        The pieces, a ragged tensor of strings `(B, None)`.
    """
    data = tf.strings.bytes_split(text)  # (B, None)
    first = tf.gather(data.row_starts(), starts.value_rowids())
    places = tf.ragged.range(
        first + starts.flat_values, first + ends.flat_values
    )
    data = tf.gather(data.flat_values, places)
    return starts.with_flat_values(tf.strings.reduce_join(data, axis=-1))
