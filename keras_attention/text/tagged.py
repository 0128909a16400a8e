"""Tags in front of a text, each with an id of its own."""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any
from typing import Self

import keras

from keras_attention.checks import check_object
from keras_attention.text.base import PAD
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.sentences import as_texts
from keras_attention.text.tensors import tf
from keras_attention.text.vocabulary import check_vocabulary
from keras_attention.text.vocabulary import id_table

TAB = "\t"
ASCII_SPACES = " \t\n\v\f\r"  # which `tf.strings.strip` strips


def split_tags(text: str, separator: str) -> list[str]:
    """List the tags of a text, as `TaggedTokenizer` reads what follows a tab.

    Args:
        text: The tags.
        separator: What stands between two of them.

    Returns:
        The tags, without white space around them, and without blank ones.
    """
    tags = [tag.strip(ASCII_SPACES) for tag in text.split(separator)]
    return [tag for tag in tags if tag]


def check_separator(name: str, value: Any):
    """Raise a `ValueError` unless a value can stand between two tags."""
    if not isinstance(value, str) or not value or TAB in value:
        raise ValueError(
            f"`{name}` must be a string without a tab. Received: "
            f"{name}={value!r}. Give such as ';'."
        )


@keras.saving.register_keras_serializable(package="keras_attention")
class TaggedTokenizer(AbstractTokenizer):
    r"""Reads a text, a tab, and tags, and puts the tags in front of the text.

    Such as a lemma and what its form shall say: "deve", a tab, "N;ACC;PL".
    Each tag is one symbol, as it is written, without the white space around
    it; the text is that of a tokenizer of your own. A text without a tab has no
    tags. What follows the first tab are tags, and blank ones are none.

    Args:
        tokenizer: The tokenizer of the text. Its ids stay as they are.
        tags: The tags, with the ids after those of `tokenizer`.
        separator: What stands between two tags. Defaults to `";"`.

    Raises:
        ValueError: If an entry of `tags` has the separator in it, is empty, is
            not a string, appears twice, or is the name of a special id; or if
            another argument is not what it should be.

    Example:

    >>> from keras_attention.text import CharacterTokenizer, TaggedTokenizer
    >>> tokenizer = TaggedTokenizer(CharacterTokenizer("dev"), ["PL", "ACC"])
    >>> ids = tokenizer.tokenize(["deve\tACC;PL"])
    >>> ids.numpy().tolist()
    [[2, 8, 7, 4, 5, 6, 5, 3]]
    >>> tokenizer.detokenize(ids).numpy()[0].decode()
    'deve\tACC;PL'
    """

    def __init__(
        self,
        tokenizer: AbstractTokenizer,
        tags: Iterable[str],
        separator: str = ";",
    ):
        check_object(
            "tokenizer", tokenizer, AbstractTokenizer, "Give that of the text."
        )
        check_separator("separator", separator)
        self.separator = separator
        tags = check_vocabulary(tags, type(self).__name__)
        cut = [x for x in tags if separator in x or TAB in x]
        if cut:
            raise ValueError(
                "`tags` needs tags without the separator and without tabs. "
                f"Received: tags with {cut[0]!r}. Split them."
            )
        super().__init__([*tokenizer.vocabulary, *tags], "identity")
        self.tokenizer = tokenizer
        self._table = id_table(self.tag_ids)

    @property
    def tag_ids(self) -> dict[str, int]:
        """The ids of tags, which have no white space around them."""
        first = len(self.tokenizer.vocabulary)
        tags = [
            *enumerate(self.vocabulary[first:], self.tokenizer.vocabulary_size)
        ]
        # Those of old files may have some; what has none wins.
        stripped = {tag.strip(ASCII_SPACES): id_ for id_, tag in tags}
        return stripped | {tag: id_ for id_, tag in tags if tag in stripped}

    def encode(self, text):
        text, tags = self._parted(text)
        tags = tf.ragged.map_flat_values(self._table.lookup, tags)
        return tf.concat([tags, self.tokenizer.encode(text)], axis=1)

    def split(self, text):
        text, tags = self._parted(text)
        return tf.concat([tags, self.tokenizer.split(text)], axis=1)

    def _parted(self, text):
        """Return cleaned texts, `(B,)`, and the tags of each, ragged."""
        tags = tf.strings.regex_replace(text, r"^[^\t]*\t?", "")
        tags = tf.strings.split(tags, self.separator)
        tags = tf.ragged.map_flat_values(tf.strings.strip, tags)
        tags = tf.ragged.boolean_mask(tags, tags != "")
        text = tf.strings.regex_replace(text, r"(?s)\t.*", "")
        return self.tokenizer.clean(text), tags

    def decode(self, ids, unknown):
        is_tag = ids >= self.tokenizer.vocabulary_size  # (B, T)
        of_text = ~is_tag & (ids != PAD)
        count = tf.cumsum(tf.cast(is_tag, tf.int32), axis=1)
        before = tf.where(count == 1, TAB, self.separator)
        tags = tf.where(is_tag, before + tf.gather(self._names, ids), "")
        if len(unknown.shape) > 0:
            unknown = tf.ragged.boolean_mask(unknown, of_text).to_tensor()
        text = tf.ragged.boolean_mask(ids, of_text).to_tensor(PAD)
        text = self.tokenizer.decode(text, unknown)
        return text + tf.strings.reduce_join(tags, axis=1)

    def get_config(self) -> dict:
        inner = self.tokenizer
        return {
            "tokenizer": json.loads(inner.to_json()),
            "tags": self.vocabulary[len(inner.vocabulary) :],
            "separator": self.separator,
        }

    @classmethod
    def from_config(cls, config: dict) -> Self:
        inner = AbstractTokenizer.from_json(json.dumps(config["tokenizer"]))
        return cls(**{**config, "tokenizer": inner})

    def extended(self, texts):
        rows = [text.partition(TAB) for text in as_texts("texts", texts)]
        unknown = self.tokenizer.unknown([text for text, *_ in rows])
        if new := [x for row in unknown for x in row]:
            raise ValueError(
                "TaggedTokenizer can get more tags, but no more entries of "
                "its inner tokenizer, because they would take the ids of "
                f"tags. Received: texts with {new[0]!r}. Leave out such texts, "
                "or train a new tokenizer."
            )
        counts = Counter(
            x for *_, tags in rows for x in split_tags(tags, self.separator)
        )
        known, old = self.tag_ids, self.get_config()["tags"]
        new = sorted(counts, key=lambda tag: (-counts[tag], tag))
        tags = [*old, *(tag for tag in new if tag not in known)]
        return type(self)(self.tokenizer, tags, self.separator)
