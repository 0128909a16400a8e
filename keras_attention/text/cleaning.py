"""How text is cleaned before it is split."""

from keras_attention.checks import check_choice
from keras_attention.extras import require
from keras_attention.text.tensors import HAS_TENSORFLOW
from keras_attention.text.tensors import tf

NORMALIZATIONS = ("nfc", "nfd", "nfkc", "nfkd", "identity")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def check_normalization(normalization: str, class_name: str):
    """Raise an error for a normalization that does not exist, or not here.

    Args:
        normalization: What the user gave.
        class_name: The tokenizer that needs it.

    Raises:
        ValueError: If `normalization` is unknown.
        ImportError: If it needs `tensorflow_text`, which is not installed.
    """
    check_choice("normalization", normalization, NORMALIZATIONS)
    if normalization != "identity" and HAS_TENSORFLOW:
        require("tensorflow_text", "text", class_name)


def clean(text, normalization: str, lowercase: bool):
    """Make text valid UTF-8, normalize it, and lower it if asked to.

    Args:
        text: Strings of any shape, any bytes.
        normalization: One of `NORMALIZATIONS`.
        lowercase: Whether to put text into lower case. A NUL, at which
            TensorFlow's lower case would cut the text off, becomes U+FFFD.

    Returns:
        Strings of the same shape.
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


@tf.autograph.experimental.do_not_convert  # it would warn of the import
def _normalize(text, normalization):
    if normalization == "identity":
        return text
    if not HAS_TENSORFLOW:
        return tf.strings.normalize(text, normalization.upper())
    ops = require("tensorflow_text", "text", f"normalization={normalization!r}")
    return ops.normalize_utf8(text, normalization.upper())
