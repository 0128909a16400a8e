"""The steps that tokenizers consist of, and how Python runs them.

A tokenizer is a list of steps. To convert text to ids, `read` of each step
runs in order; to convert ids to text, `write` of each step runs in order. A
step contains only strings and numbers, so that `export/` can translate it to
TensorFlow and ONNX.
"""

import base64
import itertools
import unicodedata
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import fields
from functools import cached_property
from typing import Any
from typing import NamedTuple

from keras_attention.checks import check_choice
from keras_attention.checks import check_object
from keras_attention.steps.patterns import compiled
from keras_attention.steps.patterns import replacer

PAD, UNKNOWN, START, END = range(4)
SPECIAL_NAMES = ("", "<unk>", "<s>", "</s>")  # how `tokens` shows them
NORMALIZATIONS = ("nfc", "nfd", "nfkc", "nfkd", "identity")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
ASCII_SPACES = " \t\n\v\f\r"
REMEMBERED = 2**16  # parts of texts
BULKY = "vocabulary", "model", "tags", "tag_ids"  # most are in configs
MANY_MARKS = 500
LONG_RUN = rf"\pM{{{MANY_MARKS},}}"


class Pieces(NamedTuple):
    """A tokenized text.

    Attributes:
        ids: The id of each piece, without start and end.
        texts: Function that returns the text of each piece.
    """

    ids: list[int]
    texts: Callable[[], list[str]]


class Words(NamedTuple):
    """Ids with their texts, before they are joined.

    Attributes:
        names: The vocabulary entry of each id, `"<unk>"` for unknown ids.
        texts: The text of each id.
    """

    names: list[str]
    texts: list[str]


class AbstractStep:
    """One step of a tokenizer, which works in both directions.

    A subclass is a frozen dataclass of strings, numbers and steps. To export
    it, register its forms with `tensor_form` of
    `keras_attention.export.tensor_steps` and with `onnx_form` of
    `keras_attention.export.onnx_steps`.
    """

    entries: Sequence[str] | None = None  # the names of the ids from 4 on

    def read(self, value: Any) -> Any:
        """Process the result of the previous step, from text to ids.

        Args:
            value: A text, or its pieces after a `Split`.

        Returns:
            A text, pieces, or `Pieces` from the last step. By default `value`.
        """
        return value

    def describe(self, config: dict) -> dict:
        """Describe the step for JSON.

        Args:
            config: The config of its tokenizer. A vocabulary or model that the
                config contains is omitted.

        Returns:
            A dictionary with its class as `"step"`, and its arguments. For a
            step that you define, which only its class can read, the class
            alone.
        """
        kind = type(self)
        if kind.__module__.partition(".")[0] != __name__.partition(".")[0]:
            return {"step": f"{kind.__module__}.{kind.__qualname__}"}
        found = {"step": kind.__name__}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "steps":
                value = [step.describe(config) for step in value]
            elif isinstance(value, bytes):
                value = base64.b64encode(value).decode()
            elif field.name in BULKY:
                value = [*value]
            if field.name in BULKY and value == value_in(config, field.name):
                continue
            found[field.name] = value
        return found

    def write(self, value: Any) -> Any:
        """Process the result of the previous step, from ids to text.

        Args:
            value: At first ids, unknown or from 4 on, and the text of each
                unknown id; after a `LookUp`, `Words`.

        Returns:
            `Words`, or a text from the last step. By default `value`.
        """
        return value


def value_in(config: dict, name: str) -> Any:
    """Return the value of a name in the config of a tokenizer.

    Args:
        config: The config, which can contain the configs of other tokenizers.
        name: The name.

    Returns:
        The first value with this name, or `None`.
    """
    if name in config:
        return config[name]
    rows = list, tuple  # JSON makes the one of the other
    values = (x if isinstance(x, rows) else [x] for x in config.values())
    inner = itertools.chain.from_iterable(values)
    configs = (x.get("config") for x in inner if isinstance(x, dict))
    configs = (x for x in configs if isinstance(x, dict))
    return next(filter(None, (value_in(x, name) for x in configs)), None)


@dataclass(frozen=True)
class Normalize(AbstractStep):
    """Normalizes Unicode, and lowercases text.

    Args:
        form: `"nfc"`, `"nfd"`, `"nfkc"`, `"nfkd"`, or `"identity"` for none.
            Defaults to `"nfc"`.
        lowercase: Whether to lowercase text; a NUL then becomes U+FFFD.
            Defaults to `False`.

    Raises:
        ValueError: If an argument is invalid.
    """

    form: str = "nfc"
    lowercase: bool = False

    def __post_init__(self):
        check_choice("normalization", self.form, NORMALIZATIONS)
        check_object("lowercase", self.lowercase, bool, "Pass True or False.")

    def read(self, value: str) -> str:
        text = self._normalized(value)
        if self.lowercase:  # which can change the order of combining marks
            text = text.replace("\0", REPLACEMENT).lower()
            text = self._normalized(text)
        return text

    def _normalized(self, text):
        if self.form == "identity":
            return text
        if len(text) > MANY_MARKS:
            text = compiled(LONG_RUN).sub(_in_order, text)
        return unicodedata.normalize(self.form.upper(), text)


def _in_order(run):
    """Sort combining marks; `unicodedata` needs quadratic time for long runs.

    Args:
        run: The match of a run of combining marks.

    Returns:
        Marks that have the same normal forms.
    """
    kind = unicodedata.combining
    marks = "".join(unicodedata.normalize("NFD", x) for x in run[0])
    groups = itertools.groupby(marks, lambda x: kind(x) > 0)
    parts = (sorted(x, key=kind) if sorts else x for sorts, x in groups)
    return "".join(itertools.chain.from_iterable(parts))


@dataclass(frozen=True)
class Replace(AbstractStep):
    r"""Replaces all matches of patterns in a text.

    Patterns are RE2 patterns, as in TensorFlow and ONNX: without look-around,
    and with classes such as `\pL` and `\x{85}`.

    Args:
        rules: Pairs of a pattern and its replacement, in which `\1` is the
            first group. They are applied in order.
        apart: A character at which Python may split the text, so that each part
            is rewritten separately and cached. Set this character only if no
            match contains it, except at the beginning of the match. Defaults to
            `""`, which rewrites texts as a whole.

    Raises:
        ValueError: If `rules` is not a list of pairs of strings, or `apart` is
            not a single character.
    """

    rules: Sequence[tuple[str, str]]
    apart: str = ""

    def __post_init__(self):
        rules = self.rules if isinstance(self.rules, list | tuple) else [None]
        for rule in rules:
            pair = isinstance(rule, list | tuple) and len(rule) == 2
            if not pair or not all(isinstance(x, str) for x in rule):
                raise ValueError(
                    "`rules` of a Replace must be a list of pairs of strings. "
                    f"Received: rules={self.rules!r:.80}. Pass for example "
                    "[('a+', 'a')]."
                )
        if not isinstance(self.apart, str) or len(self.apart) > 1:
            raise ValueError(
                "`apart` of a Replace must be one character, or ''. Received: "
                f"apart={self.apart!r}. Leave it out."
            )

    def read(self, value: str) -> str:
        if not self.apart:
            return self._rewrite(value)
        first, *rest = value.split(self.apart)
        parts = [first, *[self.apart + part for part in rest]]
        return "".join(map(self._known.__getitem__, parts))

    @cached_property
    def _rules(self):
        return [replacer(*rule) for rule in self.rules]

    @cached_property
    def _known(self):
        return Remembered(self._rewrite)

    def _rewrite(self, text):
        for replace in self._rules:
            text = replace(text)
        return text


class Remembered(dict):
    """A cache of the results of a function of strings.

    Args:
        function: The function.
    """

    def __init__(self, function: Callable[[str], str]):
        super().__init__()
        self.function = function

    def __missing__(self, text):
        if len(self) >= REMEMBERED:
            self.clear()
        self[text] = found = self.function(text)
        return found


@dataclass(frozen=True)
class Split(AbstractStep):
    """Splits a text into pieces, and drops empty pieces.

    Args:
        separator: The separator between two pieces; `""` splits a text into
            characters. Defaults to `None`, which means ASCII whitespace.

    Raises:
        ValueError: If `separator` is neither a string nor `None`.
    """

    separator: str | None = None

    def __post_init__(self):
        if self.separator is not None:
            check_object(
                "separator", self.separator, str, "Pass for example '-'."
            )

    def read(self, value: str) -> list[str]:
        if self.separator == "":
            return [*value]
        if self.separator is None:
            return compiled(rf"[^{ASCII_SPACES}]+").findall(value)
        return [piece for piece in value.split(self.separator) if piece]


@dataclass(frozen=True)
class LookUp(AbstractStep):
    """Maps pieces to ids, and ids to vocabulary entries.

    Args:
        vocabulary: The entries, with the ids 4, 5, ... in this order.
        edges: An RE2 pattern. A piece that is not in the vocabulary is looked
            up again without the matches of this pattern. Defaults to `""`,
            which means no second lookup.
    """

    vocabulary: Sequence[str]
    edges: str = ""

    @property
    def entries(self) -> Sequence[str]:
        """The vocabulary entries, which have the ids from 4 on."""
        return self.vocabulary

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of each entry."""
        first = len(SPECIAL_NAMES)
        return {name: id_ for id_, name in enumerate(self.vocabulary, first)}

    def read(self, value: list[str]) -> Pieces:
        get = self.ids.get
        found = [get(piece, UNKNOWN) for piece in value]
        if self.edges and UNKNOWN in found:
            bare = compiled(self.edges).sub
            found = [
                get(bare("", piece), UNKNOWN) if id_ == UNKNOWN else id_
                for piece, id_ in zip(value, found, strict=True)
            ]
        return Pieces(found, lambda: value)

    def write(self, value: tuple[list[int], list[str]]) -> Words:
        names = [self._names[id_] for id_ in value[0]]
        texts = [
            text if id_ == UNKNOWN else name
            for id_, name, text in zip(value[0], names, value[1], strict=True)
        ]
        return Words(names, texts)

    @cached_property
    def _names(self):
        return [*SPECIAL_NAMES, *self.vocabulary]


@dataclass(frozen=True)
class Join(AbstractStep):
    """Joins vocabulary entries to a text.

    Args:
        separator: The separator between two entries. If it is not empty,
            ASCII whitespace is stripped from the text and from unknown words.
            Defaults to `""`.
        closes: An RE2 pattern for entries without a separator before them, such
            as a comma. Like the following patterns, it must match the whole
            entry. Defaults to `""`.
        opens: An RE2 pattern for entries without a separator after them.
            Defaults to `""`.
        quotes: An RE2 pattern for quotation marks. The first quotation mark
            opens, the second closes, and so on. Defaults to `""`.
        follows: An RE2 pattern for entries that follow a closing quotation mark
            without a separator. Defaults to `""`.
    """

    separator: str = ""
    closes: str = ""
    opens: str = ""
    quotes: str = ""
    follows: str = ""

    @property
    def signs(self) -> tuple[str, str, str, str]:
        """The four patterns."""
        return self.closes, self.opens, self.quotes, self.follows

    def write(self, value: Words) -> str:
        if not self.separator:
            return "".join(value.texts)
        parts, glued, is_open, closed = [], True, False, False
        for name, text in zip(*value, strict=True):
            closes, opens, quotes, follows = self.signs_of(name)
            if quotes:
                is_open = not is_open
            closes = closes or (quotes and not is_open) or (follows and closed)
            if not (closes or glued):
                parts.append(self.separator)
            known = text == name
            parts.append(text if known else text.strip(ASCII_SPACES))
            glued = opens or (quotes and is_open)
            closed = quotes and not is_open
        return "".join(parts).strip(ASCII_SPACES)

    @cached_property
    def _known(self):
        return {}

    def signs_of(self, name: str) -> list[bool]:
        """Return which of the four patterns an entry matches.

        Args:
            name: The entry.
        """
        if name not in self._known:
            self._known[name] = [
                bool(pattern) and bool(compiled(pattern).fullmatch(name))
                for pattern in self.signs
            ]
        return self._known[name]


def read(steps: Sequence[AbstractStep], text: str) -> Pieces:
    """Convert a text to ids.

    Args:
        steps: The steps.
        text: The text.

    Returns:
        Its `Pieces`.

    Raises:
        ValueError: If the last step does not return `Pieces`.
    """
    value = text
    for step in steps:
        value = step.read(value)
    if not isinstance(value, Pieces):
        raise ValueError(_ends("reading", "pieces", steps, value))
    return value


def write(
    steps: Sequence[AbstractStep], ids: list[int], unknown: list[str]
) -> str:
    """Convert ids to a text.

    Args:
        steps: The steps.
        ids: The unknown id, or ids from 4 on.
        unknown: The text of each unknown id; ignored for other ids.

    Returns:
        The text.

    Raises:
        ValueError: If the last step does not return a text.
    """
    value = ids, unknown
    for step in steps:
        value = step.write(value)
    if not isinstance(value, str):
        raise ValueError(_ends("writing", "text", steps, value))
    return value


def entries_of(steps: Sequence[AbstractStep]) -> Sequence[str]:
    """Return the vocabulary entries, which have the ids from 4 on.

    Args:
        steps: The steps, one of which has `entries`.
    """
    (entries,) = (x.entries for x in steps if x.entries is not None)
    return entries


def _ends(doing, needed, steps, value):
    names = ", ".join(type(step).__name__ for step in steps)
    return (
        f"A tokenizer needs steps that end in {needed} when {doing}. Received: "
        f"steps=[{names}], which end in an object of {type(value).__name__}. "
        "Use for example [Normalize(), Split(), LookUp(vocabulary), Join(' ')]."
    )
