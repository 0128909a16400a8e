"""A tokenizer for texts with tags, which get ids of their own."""

import json
from collections import Counter
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Self

import keras

from keras_attention.checks import check_object
from keras_attention.checks import check_separator
from keras_attention.steps.primitives import SPECIAL_NAMES
from keras_attention.steps.primitives import AbstractStep
from keras_attention.steps.tags import TAB
from keras_attention.steps.tags import Tags
from keras_attention.steps.tags import split_tags
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.sentences import as_texts
from keras_attention.text.vocabulary import check_vocabulary


@keras.saving.register_keras_serializable(package="keras_attention")
class TaggedTokenizer(AbstractTokenizer):
    r"""Tokenizes a text with tags, and puts the tags before the text.

    The input is a text, a tab, and tags. For inflection, this is a lemma and
    its morphological features: "deve", a tab, "N;ACC;PL". Each tag, without the
    whitespace around it, gets one id. Another tokenizer splits the text. A text
    without a tab has no tags. All text after the first tab is read as tags;
    blank tags are ignored.

    Args:
        tokenizer: The tokenizer of the text. Its ids are unchanged.
        tags: The tags.
        separator: The separator between two tags. Defaults to `";"`.
        tag_ids: The ids of the tags. `extended` sets this argument, because new
            entries of the text get ids after those of old tags. Defaults to
            `None`, which assigns the ids after those of `tokenizer`.

    Raises:
        ValueError: If an entry of `tags` contains the separator, is empty, is
            not a string, is a duplicate, or is the name of a special id; or
            if another argument is invalid.

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
        tag_ids: Sequence[int] | None = None,
    ):
        check_object(
            "tokenizer", tokenizer, AbstractTokenizer, "Pass one for the text."
        )
        check_separator("separator", separator)
        self.separator = separator
        tags = check_vocabulary(tags, type(self).__name__)
        cut = [x for x in tags if separator in x or TAB in x]
        if cut:
            raise ValueError(
                "`tags` must not contain the separator or tabs. Received: "
                f"tags with {cut[0]!r}. Split them."
            )
        self.tokenizer, self.tags = tokenizer, tags
        self.tag_ids = self._ids_after_text()
        if tag_ids is not None:
            self.tag_ids = [*map(int, tag_ids)]
        own = range(len(SPECIAL_NAMES), tokenizer.vocabulary_size + len(tags))
        used = {*self.tag_ids} & {*own}
        if not len(used) == len(self.tag_ids) == len(tags):
            raise ValueError(
                f"`tag_ids` must be {len(tags)} ids of {own}, one for each "
                f"tag. Received: tag_ids={self.tag_ids}. Leave it out."
            )
        names = self.steps[0].among(tokenizer.vocabulary)
        super().__init__(names, "identity")

    @property
    def steps(self) -> list[AbstractStep]:
        """The steps of the text, inside a step that separates the tags."""
        return [
            Tags(self.tokenizer.steps, self.tags, self.tag_ids, self.separator)
        ]

    def _ids_after_text(self):
        size = self.tokenizer.vocabulary_size
        return [*range(size, size + len(self.tags))]

    def get_config(self) -> dict:
        config = {
            "tokenizer": json.loads(self.tokenizer.to_json()),
            "tags": self.tags,
            "separator": self.separator,
        }
        if self.tag_ids != self._ids_after_text():
            config["tag_ids"] = self.tag_ids
        return config

    @classmethod
    def from_config(cls, config: dict) -> Self:
        inner = AbstractTokenizer.from_json(json.dumps(config["tokenizer"]))
        return cls(**{**config, "tokenizer": inner})

    def extended(self, texts):
        rows = [text.partition(TAB) for text in as_texts("texts", texts)]
        inner, texts = self.tokenizer, [text for text, *_ in rows]
        if any(inner.unknown(texts)):
            inner = inner.extended(texts)
        counts = Counter(
            x for *_, tags in rows for x in split_tags(tags, self.separator)
        )
        known = self.steps[0].ids
        new = sorted(counts, key=lambda tag: (-counts[tag], tag))
        tags = [*self.tags, *(tag for tag in new if tag not in known)]
        first = inner.vocabulary_size + len(self.tags)
        ids = [*self.tag_ids, *range(first, first + len(tags) - len(self.tags))]
        return type(self)(inner, tags, self.separator, ids)
