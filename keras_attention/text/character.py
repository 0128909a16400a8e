"""One id for every character."""

import keras
import tensorflow as tf

from keras_attention.text.base import UNKNOWN
from keras_attention.text.vocabulary import AbstractVocabularyTokenizer


@keras.saving.register_keras_serializable(package="keras_attention")
class CharacterTokenizer(AbstractVocabularyTokenizer):
    """Gives every Unicode character its own id.

    Text whose characters are all in the vocabulary comes back exactly, after
    normalization. Rows are long, about five times those of words, so this is
    for small tasks: dates, numbers, spelling. An unknown character reads as
    U+FFFD, one for one.

    Args:
        vocabulary: Characters, with the ids 4, 5, ... in this order.
        normalization: `"nfkc"`, `"nfc"` or `"identity"`.
        lowercase: Whether text is put into lower case.

    Raises:
        ValueError: If something in `vocabulary` is not one character.

    Example:

    >>> from keras_attention.text import CharacterTokenizer
    >>> tokenizer = CharacterTokenizer("abc")
    >>> tokenizer.tokenize(["cab", "a"]).numpy().tolist()
    [[2, 6, 4, 5, 3], [2, 4, 3, 0, 0]]
    >>> tokenizer.detokenize([[2, 6, 4, 5, 3]]).numpy().tolist()
    [b'cab']
    """

    unknown_text = "\N{REPLACEMENT CHARACTER}"

    def __init__(self, vocabulary, normalization="nfkc", lowercase=False):
        vocabulary = list(vocabulary)
        long = [c for c in vocabulary if isinstance(c, str) and len(c) > 1]
        if long:
            raise ValueError(
                "CharacterTokenizer needs a `vocabulary` of single "
                f"characters. Received: vocabulary with {long[0]!r}. "
                "Split it, or use WordTokenizer."
            )
        super().__init__(vocabulary, normalization, lowercase)
        self._texts = tf.constant(["", "", "", "", *vocabulary], tf.string)

    def split(self, text):
        return tf.strings.unicode_split(text, "UTF-8")

    def decode(self, ids, unknown):
        texts = tf.gather(self._texts, ids)
        texts = tf.where(ids == UNKNOWN, unknown, texts)
        return tf.strings.reduce_join(texts, axis=1)
