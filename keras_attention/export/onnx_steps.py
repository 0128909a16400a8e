"""The steps of tokenizers as ONNX nodes.

`onnx_form` creates them; use it to register the form of a custom step.
"""

import sys
from collections.abc import Sequence
from functools import cache
from functools import singledispatch
from typing import Any
from typing import NamedTuple

import numpy as np

from keras_attention.export.onnx_strings import NO_CHARACTER
from keras_attention.export.onnx_strings import NUL
from keras_attention.export.onnx_strings import SYMBOL
from keras_attention.export.onnx_strings import OnnxStrings
from keras_attention.export.onnx_strings import strings
from keras_attention.export.tensor_unicode import SURROGATES
from keras_attention.export.tensor_unicode import read_unicode
from keras_attention.steps.patterns import spelled
from keras_attention.steps.primitives import PAD
from keras_attention.steps.primitives import REPLACEMENT
from keras_attention.steps.primitives import SPECIAL_NAMES
from keras_attention.steps.primitives import UNKNOWN
from keras_attention.steps.primitives import AbstractStep
from keras_attention.steps.primitives import Join
from keras_attention.steps.primitives import LookUp
from keras_attention.steps.primitives import Normalize
from keras_attention.steps.primitives import Replace
from keras_attention.steps.primitives import Split
from keras_attention.steps.tags import TAB
from keras_attention.steps.tags import Tags
from keras_attention.text import AbstractTokenizer

FIRST = len(SPECIAL_NAMES)


class OnnxText:
    """Texts as strings `(B,)` and as characters `(B, T)`, created on demand.

    Args:
        add: Adds nodes to the graph.
        text: The name of strings `(B,)`, if they exist.
        letters: The name of characters `(B, T)`, if they exist, padded with
            `""`.
    """

    def __init__(
        self,
        add: OnnxStrings,
        text: str | None = None,
        letters: str | None = None,
    ):
        self._add = add
        self._text = text
        self._letters = letters

    @property
    def letters(self) -> str:
        """The characters."""
        if self._letters is None:
            self._letters = self._add.tokens(self._text, separators=[""])
        return self._letters

    @property
    def text(self) -> str:
        """The strings."""
        if self._text is None:
            self._text = self._add.joined(self._letters)
        return self._text

    def without_nul(self) -> str:
        """Return strings with `NO_CHARACTER` instead of NUL."""
        table = {NUL: NO_CHARACTER}
        return self._add.joined(self._add.mapped(self.letters, table))


class OnnxPieces(NamedTuple):
    """Tokenized texts, as names of values.

    Attributes:
        ids: `(B, T)`; 0 at any position means no id.
        words: The text of each piece, strings `(B, T)`; `None` if only
            `sentencepiece` knows it.
    """

    ids: str
    words: str | None


class OnnxWords(NamedTuple):
    """Ids with their texts, before they are joined.

    Attributes:
        ids: The name of `(B, T)`, padded with zeros.
        names: The names of all ids.
        texts: The name of the text of each id, strings `(B, T)`.
        plain: Whether no text can have whitespace around it.
    """

    ids: str
    names: Sequence[str]
    texts: str
    plain: bool


class AbstractOnnxForm:
    """The form of a step in ONNX.

    Args:
        step: The step.
    """

    def __init__(self, step: AbstractStep):
        self.step = step

    def read(self, add: OnnxStrings, value: Any) -> Any:
        """Add nodes for `read` of the step.

        Args:
            add: Adds nodes to the graph.
            value: An `OnnxText`; after a `Split`, the name of strings `(B, T)`
                padded with `""`.

        Returns:
            A value of the same kind, or `OnnxPieces` from the last step.
        """
        return value

    def write(self, add: OnnxStrings, value: Any) -> Any:
        """Add nodes for `write` of the step.

        Args:
            add: Adds nodes to the graph.
            value: At first the name of ids `(B, T)`, padded with zeros, and the
                name of the texts of unknown ids `(B, T)`, or an array with one
                text for all; after a `LookUp`, `OnnxWords`.

        Returns:
            `OnnxWords`, or the name of strings `(B,)` from the last step.
        """
        return value


@singledispatch
def onnx_form(step: AbstractStep) -> AbstractOnnxForm:
    """Return the ONNX form of a step.

    Args:
        step: The step.

    Returns:
        The form.

    Raises:
        ValueError: If no form is registered for its class.
    """
    raise ValueError(
        "Text in ONNX needs tokenizers whose steps have an ONNX form. "
        f"Received: {type(step).__name__}. Register a form, "
        "`onnx_form.register(MyStep, MyForm)`, or export from ids to ids with "
        "format='onnx', and tokenize outside of the file."
    )


def read(
    add: OnnxStrings, steps: Sequence[AbstractStep], value: Any
) -> OnnxPieces:
    """Apply `read` of all steps in order.

    Args:
        add: Adds nodes to the graph.
        steps: The steps.
        value: An `OnnxText`.
    """
    for step in steps:
        value = onnx_form(step).read(add, value)
    return value


def write(add: OnnxStrings, steps: Sequence[AbstractStep], *value: Any) -> str:
    """Apply `write` of all steps in order, and return strings `(B,)`.

    Args:
        add: Adds nodes to the graph.
        steps: The steps.
        *value: Ids `(B, T)`, and the texts of unknown ids.
    """
    for step in steps:
        value = onnx_form(step).write(add, value)
    return value


def write_ids(
    add: OnnxStrings,
    tokenizer: AbstractTokenizer,
    ids: str,
    unknown: str | None = None,
) -> str:
    """Convert ids to strings, as the tokenizer does.

    Args:
        add: Adds nodes to the graph.
        tokenizer: The tokenizer.
        ids: `(B, T)`, padded with zeros.
        unknown: Texts of unknown ids, strings `(B, T)`; `unknown_text` is used
            where they are empty. Defaults to `None`, which uses
            `unknown_text` everywhere.

    Returns:
        Strings `(B,)`.
    """
    text = strings(tokenizer.unknown_text)
    if unknown is not None:
        missing = add("Equal", unknown, strings(""))
        text = add("Where", missing, text, unknown)
    return write(add, tokenizer.steps, ids, text)


class NormalizeForm(AbstractOnnxForm):
    """`Normalize` in ONNX, which lowercases characters without context."""

    def read(self, add, value):
        form, letters, changing = self.step.form, value.letters, set()

        def normalized(letters):
            return add.normalized(letters, form)

        def apart(letters):
            return normalized(OnnxText(add, add.joined(letters)).letters)

        if form != "identity":
            *_, codes = read_unicode(form.upper())
            changing = {*map(chr, codes)}
        if not self.step.lowercase or form.startswith("nfk"):
            letters = add.changed(letters, changing, normalized)
        if self.step.lowercase:  # else compatible letters are capitals still
            lower = _lower_letters()
            letters = add.mapped(letters, lower)
            several = {x for x in lower.values() if len(x) > 1}
            letters = add.changed(letters, changing | several, apart)
        return OnnxText(add, letters=letters)


@cache
def _lower_letters():
    changed = {x: x.lower() for x in letters_of_unicode() if x.lower() != x}
    return {NUL: REPLACEMENT, **changed}


@cache
def letters_of_unicode() -> list[str]:
    """List all Unicode characters."""
    codes = range(sys.maxunicode + 1)
    return [chr(x) for x in codes if x not in SURROGATES]


class ReplaceForm(AbstractOnnxForm):
    """`Replace` in ONNX, by `onnxruntime-extensions`."""

    def read(self, add, value):
        text = value.without_nul()
        for pattern, rewrite in self.step.rules:
            text = add.replace(text, spelled(pattern), rewrite)
        return OnnxText(add, text)


class SplitForm(AbstractOnnxForm):
    """`Split` in ONNX."""

    def read(self, add, value):
        separator = self.step.separator
        if separator == "":
            return value.letters
        if separator is None:
            return add.tokens(value.text, tokenexp=SYMBOL)
        pieces, _ = add(
            "StringSplit", value.text, outputs=2, delimiter=separator
        )
        return pieces


class LookUpForm(AbstractOnnxForm):
    """`LookUp` in ONNX."""

    def read(self, add, value):
        ids = {"": PAD, **self.step.ids}
        ids |= {name.replace(NUL, NO_CHARACTER): x for name, x in ids.items()}
        found = add.look_up(value, ids, UNKNOWN)
        if self.step.edges:
            bare = add.replace(value, spelled(self.step.edges), "")
            bare = add("Max", add.look_up(bare, ids, UNKNOWN), UNKNOWN)
            found = add("Where", add("Equal", found, UNKNOWN), bare, found)
        return OnnxPieces(found, value)

    def write(self, add, value):
        ids, unknown = value
        names = [*SPECIAL_NAMES, *self.step.vocabulary]
        texts = add("Gather", strings(*names), ids)
        texts = add("Where", add("Equal", ids, UNKNOWN), unknown, texts)
        spaced = any(name != name.strip(" \t\n\v\f\r") for name in names)
        plain = not (spaced or isinstance(unknown, str))
        return OnnxWords(ids, names, texts, plain)


class JoinForm(AbstractOnnxForm):
    """`Join` in ONNX."""

    def write(self, add, value):
        ids, names, texts, plain = value
        if not self.step.separator:
            return add.joined(texts)
        joins = add("Or", add("Equal", ids, PAD), add.first_column(ids))
        if any(self.step.signs):
            joins = add("Or", joins, self._joins(add, ids, names))
        if not plain:
            is_unknown = add("Equal", ids, UNKNOWN)
            texts = add("Where", is_unknown, add.stripped(texts), texts)
        text = add.spaced(texts, joins, self.step.separator)
        return text if plain else add.stripped(text)

    def _joins(self, add, ids, names):
        """Return before which words `(B, T)` there is no separator."""
        flags = zip(*map(self.step.signs_of, names), strict=True)
        close, open_, is_quote, follow = (
            add("Gather", list(column), ids) for column in flags
        )
        count = add("CumSum", add("Cast", is_quote, to=add.int64), 1)
        odd = add("Cast", add("Mod", count, 2), to=add.onnx.TensorProto.BOOL)
        opening = add("And", is_quote, odd)
        closing = add("And", is_quote, add("Not", odd))
        follow = add("And", follow, _before(add, closing, False))
        open_ = _before(add, add("Or", open_, opening), True)
        return add("Or", add("Or", add("Or", close, closing), follow), open_)


def _before(add, flags, first):
    """Shift flags `(B, T)` to the next token."""
    edge = add("Concat", add("Shape", flags, end=1), [1], axis=0)
    flags = add("Concat", add("Expand", first, edge), flags, axis=1)
    return add("Slice", flags, [0], [-1], [1])


def _count(add, order, ids, with_equal):
    """Count the numbers in a list that are less than each id `(B, T)`."""
    kind = "LessOrEqual" if with_equal else "Less"
    below = add(kind, np.array(order, "int64"), add("Unsqueeze", ids, [2]))
    below = add("Cast", below, to=add.int64)
    return add("ReduceSum", below, [2], keepdims=0)


class TagsForm(AbstractOnnxForm):
    """`Tags` in ONNX."""

    def read(self, add, value):
        text = value.text
        edge = add("Concat", add("Shape", text), [2], axis=0)
        parts, _ = add(
            "StringSplit", text, outputs=2, delimiter=TAB, maxsplit=1
        )
        parts = add("Concat", parts, add("Expand", strings(""), edge), axis=1)
        text, tags = (add("Gather", parts, i, axis=1) for i in range(2))
        separator = self.step.separator
        tags, _ = add("StringSplit", tags, outputs=2, delimiter=separator)
        tags = add.stripped(tags)
        ids = add.look_up(tags, {"": PAD, **self.step.ids}, UNKNOWN)
        found = read(add, self.step.steps, OnnxText(add, text))
        own, words = found
        own = add("Add", own, _count(add, self.step.first_ids, own, True))
        if words is not None:
            words = add("Concat", tags, words, axis=1)
        return OnnxPieces(add("Concat", ids, own, axis=1), words)

    def write(self, add, value):
        ids, unknown = value
        order = self.step.order
        number = _count(add, order, ids, False)
        is_tag = add("Equal", add("Gather", [*order, -1], number), ids)
        count = add("CumSum", add("Cast", is_tag, to=add.int64), 1)
        is_first = add("Equal", count, 1)
        separator = strings(self.step.separator)
        before = add("Where", is_first, strings(TAB), separator)
        names = strings(*(self.step.names[x] for x in order), "")
        tags = add("Gather", names, number)
        tags = add("StringConcat", before, tags)
        tags = add.joined(add("Where", is_tag, tags, strings("")))
        of_text = add("And", add("Not", is_tag), add("Less", PAD, ids))
        rows = add("Shape", ids, end=1)
        if isinstance(unknown, str):
            unknown, _ = add.compact(unknown, of_text, rows, strings(""))
        ids, _ = add.compact(add("Sub", ids, number), of_text, rows, [PAD])
        text = write(add, self.step.steps, ids, unknown)
        return add("StringConcat", text, tags)


onnx_form.register(Normalize, NormalizeForm)
onnx_form.register(Replace, ReplaceForm)
onnx_form.register(Split, SplitForm)
onnx_form.register(LookUp, LookUpForm)
onnx_form.register(Join, JoinForm)
onnx_form.register(Tags, TagsForm)
