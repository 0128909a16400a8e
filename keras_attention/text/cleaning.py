"""How text is cleaned before it is split."""

import tensorflow as tf

from keras_attention.extras import require

NORMALIZATIONS = ("nfkc", "nfc", "identity")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def check_normalization(normalization: str, class_name: str):
    """Refuse a normalization that there is not, or not here.

    Args:
        normalization: What the user gave.
        class_name: The tokenizer that needs it.

    Raises:
        ValueError: If `normalization` is unknown.
        ImportError: If it needs `tensorflow_text`, which is not installed.
    """
    if normalization not in NORMALIZATIONS:
        raise ValueError(
            f"{class_name} needs a `normalization` it knows. "
            f"Received: normalization={normalization!r}. "
            f"Choose one of {', '.join(map(repr, NORMALIZATIONS))}."
        )
    if normalization != "identity":
        require("tensorflow_text", "text", class_name)


def clean(text, normalization: str, lowercase: bool):
    """Make text valid UTF-8, normalized and in its case.

    Args:
        text: Strings of any shape, any bytes.
        normalization: `"nfkc"`, `"nfc"` or `"identity"`.
        lowercase: Whether text is put into lower case. A NUL, at which
            TensorFlow's lower case would cut the text off, becomes U+FFFD.

    Returns:
        Strings of the same shape.
    """
    text = _normalize(mend(text), normalization)
    if lowercase:  # which can leave marks in another order
        text = tf.strings.regex_replace(text, r"\x00", REPLACEMENT)
        lower = tf.strings.lower(text, encoding="utf-8")
        text = _normalize(lower, normalization)
    return text


def mend(text):
    """Put U+FFFD in place of bytes that are not UTF-8.

    Args:
        text: Strings of any shape.

    Returns:
        Strings of the same shape.
    """
    return tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")


def _normalize(text, normalization):
    if normalization == "identity":
        return text
    ops = require("tensorflow_text", "text", f"normalization={normalization!r}")
    return ops.normalize_utf8(text, normalization.upper())
