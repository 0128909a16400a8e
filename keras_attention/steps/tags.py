"""The step for tags after a text."""

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from functools import partial

from keras_attention.steps.primitives import ASCII_SPACES
from keras_attention.steps.primitives import SPECIAL_NAMES
from keras_attention.steps.primitives import UNKNOWN
from keras_attention.steps.primitives import AbstractStep
from keras_attention.steps.primitives import Pieces
from keras_attention.steps.primitives import entries_of
from keras_attention.steps.primitives import read
from keras_attention.steps.primitives import write

TAB = "\t"


@dataclass(frozen=True)
class Tags(AbstractStep):
    """Reads tags after a tab, and puts them before the pieces of the text.

    Args:
        steps: The steps for the text before the tab. Their ids are shifted
            so that they skip the ids of tags.
        tags: The tags.
        tag_ids: The id of each tag.
        separator: The separator between two tags. Defaults to `";"`.
    """

    steps: Sequence[AbstractStep]
    tags: Sequence[str]
    tag_ids: Sequence[int]
    separator: str = ";"

    @cached_property
    def ids(self) -> dict[str, int]:
        """The ids of the tags, without surrounding whitespace."""
        ids = dict(zip(self.tags, self.tag_ids, strict=True))
        # Those of old files may have some; what has none wins.
        stripped = {tag.strip(ASCII_SPACES): id_ for tag, id_ in ids.items()}
        return stripped | {tag: x for tag, x in ids.items() if tag in stripped}

    @cached_property
    def names(self) -> dict[int, str]:
        """The tag of each id that has one."""
        return dict(zip(self.tag_ids, self.tags, strict=True))

    @cached_property
    def order(self) -> list[int]:
        """The ids of tags, in ascending order."""
        return sorted(self.tag_ids)

    @cached_property
    def first_ids(self) -> list[int]:
        """The first id of the text after each tag id, in ascending order.

        An id of the text is shifted by the number of these up to it.
        """
        return [id_ - i for i, id_ in enumerate(self.order)]

    @property
    def entries(self) -> list[str]:
        """The vocabulary entries, which have the ids from 4 on."""
        return self.among(entries_of(self.steps))

    def among(self, entries: Sequence[str]) -> list[str]:
        """Insert the tags at their ids among the entries of the text.

        Args:
            entries: The entries of the text.
        """
        text, size = iter(entries), len(self.tags) + len(entries)
        ids = range(len(SPECIAL_NAMES), len(SPECIAL_NAMES) + size)
        return [self.names[x] if x in self.names else next(text) for x in ids]

    def read(self, value: str) -> Pieces:
        text, _, tags = value.partition(TAB)
        tags = split_tags(tags, self.separator)
        found = read(self.steps, text)
        ids = [self.ids.get(tag, UNKNOWN) for tag in tags]
        ids += [x + bisect.bisect_right(self.first_ids, x) for x in found.ids]
        return Pieces(ids, lambda: tags + found.texts())

    def write(self, value: tuple[list[int], list[str]]) -> str:
        pairs = [*zip(*value, strict=True)]
        names, before = self.names, partial(bisect.bisect_left, self.order)
        ids = [x - before(x) for x, _ in pairs if x not in names]
        texts = [text for x, text in pairs if x not in names]
        tags = [names[x] for x, _ in pairs if x in names]
        text = write(self.steps, ids, texts)
        return text + (TAB + self.separator.join(tags) if tags else "")


def split_tags(text: str, separator: str) -> list[str]:
    """Split the tags of a text, as `Tags` does after a tab.

    Args:
        text: The tags.
        separator: The separator between two tags.

    Returns:
        The tags without surrounding whitespace and without blank tags.
    """
    tags = [tag.strip(ASCII_SPACES) for tag in text.split(separator)]
    return [tag for tag in tags if tag]
