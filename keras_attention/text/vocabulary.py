"""What tokenizers with one list of tokens share: the table, the counting."""

from collections import Counter
from collections.abc import Iterable
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import tensorflow as tf

from keras_attention.text.base import SPECIAL_NAMES
from keras_attention.text.base import UNKNOWN
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.files import read_lines

SENTENCES_AT_ONCE = 4096


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
        vocabulary = _checked(vocabulary, type(self).__name__)
        super().__init__(vocabulary, normalization, lowercase)
        first = len(SPECIAL_NAMES)
        keys = [SPECIAL_NAMES[UNKNOWN], *vocabulary]
        ids = [UNKNOWN, *range(first, first + len(vocabulary))]
        self._table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, ids, value_dtype="int32"),
            default_value=UNKNOWN,
        )

    @property
    def vocabulary(self) -> list[str]:
        """The tokens with the ids 4, 5, ... in this order."""
        names = self._names[len(SPECIAL_NAMES) :].numpy().tolist()
        return [name.decode() for name in names]

    def split(self, text):
        """Split cleaned strings into tokens.

        Args:
            text: Strings `(B,)`.

        Returns:
            Tokens as a ragged string tensor `(B, None)`.
        """
        raise NotImplementedError

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
        room = vocabulary_size - len(SPECIAL_NAMES)
        if room < 1:
            raise ValueError(
                f"`{cls.__name__}.train` needs room for the 4 special ids and "
                f"a token. Received: vocabulary_size={vocabulary_size}. "
                "Give at least 5."
            )
        untrained = cls([], normalization, lowercase)
        sentences = _sentences(sentences_or_files, cls.__name__)
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
    while batch := list(islice(sentences, SENTENCES_AT_ONCE)):
        tokens = tokenizer.split(tokenizer.clean(tf.constant(batch)))
        counts.update(tokens.flat_values.numpy().tolist())
    counts = {token.decode(): count for token, count in counts.items()}
    return {t: n for t, n in counts.items() if t not in SPECIAL_NAMES}


def _checked(vocabulary, class_name):
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


def _sentences(items, class_name) -> Iterator[str]:
    if isinstance(items, str | Path):
        raise ValueError(
            f"`{class_name}.train` needs several sentences or files. "
            f"Received: sentences_or_files={items!r}. Put it into a list; "
            "the name of a file must be a `pathlib.Path` in it."
        )
    for item in items:
        if isinstance(item, Path):
            yield from read_lines(item)
        elif isinstance(item, str):
            yield item
        else:
            raise ValueError(
                f"`{class_name}.train` needs sentences as `str` or files as "
                f"`pathlib.Path`. Received: {item!r}. Decode or convert it."
            )
