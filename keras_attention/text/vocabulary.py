"""What tokenizers with one list of tokens share: the table, the counting."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import tensorflow as tf

from keras_attention.text.base import SPECIAL_NAMES
from keras_attention.text.base import UNKNOWN
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.files import read_sentences
from keras_attention.text.training import check_room
from keras_attention.text.training import clean_batches


class AbstractVocabularyTokenizer(AbstractTokenizer):
    """Splits text into tokens and looks each up in one list.

    A subclass writes `split` and `decode`. Training counts what the same
    `split` returns, so what is counted is what will be looked up.

    Args:
        vocabulary: The tokens with the ids 4, 5, ... in this order.
        normalization: `"nfkc"`, `"nfc"` or `"identity"`.
        lowercase: Whether text is put into lower case.

    Raises:
        ValueError: If a token is empty, no string, there twice, or the name
            of a special id.
    """

    def __init__(
        self,
        vocabulary: Iterable[str],
        normalization: str = "nfkc",
        lowercase: bool = False,
    ):
        vocabulary = check_vocabulary(vocabulary, type(self).__name__)
        super().__init__(vocabulary, normalization, lowercase)
        first = len(SPECIAL_NAMES)
        keys = [SPECIAL_NAMES[UNKNOWN], *vocabulary]
        ids = [UNKNOWN, *range(first, first + len(vocabulary))]
        self._table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, ids, value_dtype="int32"),
            default_value=UNKNOWN,
        )

    def look_up(self, tokens):
        """Find the ids of tokens `(N,)`, as int32; unknown if there is none."""
        return self._table.lookup(tokens)

    def encode(self, text):
        return tf.ragged.map_flat_values(self.look_up, self.split(text))

    def get_config(self):
        return {"vocabulary": self.vocabulary, **super().get_config()}

    @classmethod
    def train(
        cls,
        sentences_or_files: Iterable[str | Path],
        vocabulary_size: int,
        min_frequency: int = 1,
        normalization: str = "nfkc",
        lowercase: bool = False,
    ):
        """Build a tokenizer from the most frequent tokens of a text.

        Of tokens that are equally frequent the one that sorts first wins, so
        the same text gives the same ids.

        Args:
            sentences_or_files: Sentences, or the `Path`s of files with one
                sentence a line, plain or gzip.
            vocabulary_size: The most ids there may be, the four special ones
                included. There are fewer if the text has fewer tokens.
            min_frequency: How often a token must be there to get an id.
            normalization: `"nfkc"`, `"nfc"` or `"identity"`.
            lowercase: Whether text is put into lower case.

        Returns:
            The tokenizer.

        Raises:
            ValueError: If there is no token, no room for one, or something
                that is neither a sentence nor a `Path`.
        """
        room = check_room(cls.__name__, vocabulary_size, 1, "a token")
        untrained = cls([], normalization, lowercase)
        sentences = read_sentences(sentences_or_files, cls.__name__)
        counts = _counts(untrained, sentences)
        ranked = sorted(counts, key=lambda token: (-counts[token], token))
        vocabulary = [t for t in ranked if counts[t] >= min_frequency]
        if not vocabulary:
            raise ValueError(
                f"`{cls.__name__}.train` needs text. Received: no token that "
                f"is there min_frequency={min_frequency} times. Give more "
                "sentences, or lower `min_frequency`."
            )
        return cls(vocabulary[:room], normalization, lowercase)


def _counts(tokenizer, sentences):
    counts = Counter()
    for batch in clean_batches(tokenizer.clean, sentences):
        tokens = tokenizer.split(batch)
        counts.update(tokens.flat_values.numpy().tolist())
    counts = {token.decode(): count for token, count in counts.items()}
    return {t: n for t, n in counts.items() if t not in SPECIAL_NAMES}


def check_vocabulary(vocabulary, class_name: str) -> list[str]:
    """List the tokens, or say which one cannot be there.

    Args:
        vocabulary: What the user gave.
        class_name: The tokenizer that needs it.

    Returns:
        The tokens, in their order.

    Raises:
        ValueError: If a token is empty, no string, there twice, or the name
            of a special id.
    """
    tokens = [] if isinstance(vocabulary, str) else list(vocabulary)
    counts = Counter(token for token in tokens if isinstance(token, str))
    bad = [vocabulary] if isinstance(vocabulary, str) else []
    bad += [token for token in tokens if not isinstance(token, str)]
    bad += [token for token in SPECIAL_NAMES if token in counts]
    bad += [token for token, count in counts.items() if count > 1]
    if bad:
        raise ValueError(
            f"{class_name} needs a `vocabulary` of different strings, without "
            "the empty one and the names of special ids. Received: "
            f"vocabulary with {bad[0]!r}. Give a list that names every token "
            "once."
        )
    return tokens
