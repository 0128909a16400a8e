"""Tags in front of a text, each with an id of its own."""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any
from typing import Self

import keras

from keras_attention.checks import check_object
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.sentences import as_texts
from keras_attention.text.steps import TAB
from keras_attention.text.steps import AbstractStep
from keras_attention.text.steps import Tags
from keras_attention.text.steps import split_tags
from keras_attention.text.vocabulary import check_vocabulary


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
    >>> ids.tolist()
    [[2, 8, 7, 4, 5, 6, 5, 3]]
    >>> tokenizer.detokenize(ids)[0]
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

    @property
    def steps(self) -> list[AbstractStep]:
        """Take the tags off, and do the steps of the text."""
        inner = self.tokenizer
        tags = self.vocabulary[len(inner.vocabulary) :]
        first = inner.vocabulary_size
        return [Tags(inner.steps, first, tags, self.separator)]

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
        known, old = self.steps[0].ids, self.get_config()["tags"]
        new = sorted(counts, key=lambda tag: (-counts[tag], tag))
        tags = [*old, *(tag for tag in new if tag not in known)]
        return type(self)(self.tokenizer, tags, self.separator)
