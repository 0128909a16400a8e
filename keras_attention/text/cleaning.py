"""How text is cleaned before it is split."""

from keras_attention.text.normalization import normalizer
from keras_attention.text.tensors import HAS_TENSORFLOW
from keras_attention.text.tensors import tf

NORMALIZATIONS = ("nfc", "nfd", "nfkc", "nfkd", "identity")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def clean(text, normalization: str, lowercase: bool):
    """Make text valid UTF-8, normalize it, and lower it if asked to.

    Args:
        text: Strings `(B,)`, any bytes.
        normalization: One of `NORMALIZATIONS`.
        lowercase: Whether to put text into lower case. A NUL, at which
            TensorFlow's lower case would cut the text off, becomes U+FFFD.

    Returns:
        Strings `(B,)`.
    """
    text = _normalize(mend(text), normalization)
    if lowercase:  # which can change the order of combining marks
        text = tf.strings.regex_replace(text, r"\x00", REPLACEMENT)
        lower = tf.strings.lower(text, encoding="utf-8")
        text = _normalize(lower, normalization)
    return text


def mend(text):
    """Replace bytes that are not UTF-8 by U+FFFD.

    Args:
        text: Strings of any shape.

    Returns:
        Strings of the same shape.
    """
    return tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")


def _normalize(text, normalization):
    if normalization == "identity":
        return text
    form = normalization.upper()
    if not HAS_TENSORFLOW:
        return tf.strings.normalize(text, form)
    return normalizer(form)(text)
