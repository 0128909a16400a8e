"""String operations in ONNX that reproduce those of `text/`."""

from collections.abc import Callable
from collections.abc import Collection
from itertools import zip_longest
from typing import Any

import numpy as np

from keras_attention.export.tensor_unicode import COMPOSED
from keras_attention.export.tensor_unicode import SHIFT
from keras_attention.export.tensor_unicode import read_unicode
from keras_attention.extras import require
from keras_attention.steps.primitives import END
from keras_attention.steps.primitives import START
from keras_attention.steps.primitives import UNKNOWN
from keras_attention.text.base import FRAME

EXTENSIONS = "ai.onnx.contrib"  # of `onnxruntime-extensions`
DOMAINS = {
    "LabelEncoder": "ai.onnx.ml",
    "Tokenizer": "com.microsoft",
    "StringRegexReplace": EXTENSIONS,
    "SentencepieceTokenizer": EXTENSIONS,
    "WordpieceTokenizer": EXTENSIONS,
}
JOIN = """
join (int64 i_, bool go_, string[B, W] x_) => (bool more_, string[B, H] y_) {
  zero_ = Constant <value_ints = [0]> ()
  one_ = Constant <value_ints = [1]> ()
  two_ = Constant <value_ints = [2]> ()
  width_ = Shape <start = 1> (x_)
  wider_ = Add (width_, one_)
  half_ = Div (wider_, two_)
  end_ = Mul (half_, two_)
  both_ = Concat <axis = 1> (x_, EMPTY)
  left_ = Slice (both_, zero_, end_, one_, two_)
  right_ = Slice (both_, one_, end_, one_, two_)
  y_ = StringConcat (left_, right_)
  goes_on_ = Greater (half_, one_)
  more_ = Squeeze (goes_on_)
}
"""
LONGEST = 64  # of such loops: 2 ** 64 strings
NUL, NO_CHARACTER = "\0", "\U0010ffff"  # for extensions, a NUL is the end
NO_STRING = 2 * NO_CHARACTER
SYMBOL = "[^ \t\n\v\f\r]+"
BARE = f"{SYMBOL}((?s:.*){SYMBOL})?"  # without white space around it


def strings(*values: str | bytes) -> np.ndarray:
    """Return an array of strings that keeps trailing zero bytes."""
    return np.array(values, object)


class OnnxStrings:
    """Builds ONNX nodes, one per call.

    Arguments and results are names of values; arrays, numbers and lists
    become constants. `B` is the number of texts, and `T` the number of tokens.

    Args:
        prefix: The prefix of all names. Defaults to `"text"`.

    Attributes:
        nodes: The nodes.
    """

    def __init__(self, prefix: str = "text"):
        self.nodes = []
        self.count = 0  # of all nodes, also inside others
        self.prefix = prefix
        self.onnx = require("onnx", "onnx", "export_onnx_text")
        self.int64 = self.onnx.TensorProto.INT64

    def __call__(
        self,
        kind: str,
        *inputs: Any,
        outputs: int = 1,
        name: str | None = None,
        **attributes: Any,
    ) -> Any:
        """Add a node.

        Args:
            kind: The operation.
            outputs: The number of its outputs. Defaults to `1`.
            name: The name of its only output. Defaults to `None`, a new name.
            *inputs: Names, or values of constants.
            **attributes: The attributes of the operation.

        Returns:
            The name of its output, or a list of names.
        """
        inputs = [
            x if isinstance(x, str) else self._constant(x) for x in inputs
        ]
        names = [f"{self.prefix}_{self.count}_{i}" for i in range(outputs)]
        names = names if name is None else [name]
        self.count += 1
        domain = DOMAINS.get(kind, "")
        node = self.onnx.helper.make_node(
            kind, inputs, names, domain=domain, **attributes
        )
        self.nodes.append(node)
        return names[0] if outputs == 1 else names

    def _constant(self, value):
        tensor = self.onnx.numpy_helper.from_array(np.asarray(value))
        return self("Constant", value=tensor)

    def look_up(self, keys: str, table: dict, default: Any) -> str:
        """Map strings or numbers to strings or numbers."""
        kinds = {str: "strings", int: "int64s"}
        of, to = (kinds[type(next(iter(x)))] for x in (table, table.values()))
        attributes = {
            f"keys_{of}": [*table],
            f"values_{to}": [*table.values()],
            f"default_{to[:-1]}": default,
        }
        return self("LabelEncoder", keys, **attributes)

    def known(self, ids: str, size: int) -> str:
        """Replace ids outside a vocabulary of this size by the unknown id."""
        ids = self("Cast", ids, to=self.int64)
        return self("Where", self("Less", ids, size), ids, UNKNOWN)

    def tokens(self, text: str, **separated: Any) -> str:
        """Split strings `(B,)` into `(B, T)`, padded with `""`."""
        options = {"mark": 0, "mincharnum": 1, "pad_value": ""}
        text = self("Concat", text, strings(""), axis=0)  # at least one row
        found = self("Tokenizer", text, **options, **separated)
        return self.typed(self("Slice", found, [0], [-1], [0]))

    def typed(self, x: str) -> str:
        """Declare values as strings, after a node of another domain."""
        return self("Cast", x, to=self.onnx.TensorProto.STRING)

    def replace(self, text: str, pattern: str, rewrite: str) -> str:
        """Replace all matches of an RE2 pattern in strings."""
        pattern, rewrite = strings(pattern), strings(rewrite)
        return self.typed(self("StringRegexReplace", text, pattern, rewrite))

    def column(self, x: str) -> str:
        """Convert `(N,)` to `(N, 1)`."""
        return self("Unsqueeze", x, [1])

    def before(self, x: str, first: Any) -> str:
        """Shift values `(N,)` to the next position."""
        return self("Concat", [first], self("Slice", x, [0], [-1]), axis=0)

    def places(self, rows: str, count: str) -> tuple[str, str]:
        """Find the positions of the values of each row in a flat list.

        Args:
            rows: The row of each value, `(N,)`, ascending.
            count: The number of rows, `(1,)`.

        Returns:
            `(B, T)`, with `N` after the end of a row, and lengths `(B, 1)`.
        """
        lengths = self(
            *("ScatterElements", self("Expand", 0, count), rows),
            self("Expand", 1, self("Shape", rows)),
            reduction="add",
        )
        return self.grid(lengths)

    def grid(self, lengths: str) -> tuple[str, str]:
        """Return `places` from the lengths `(B,)` of the rows."""
        longest = self("ReduceMax", self("Concat", lengths, [0], axis=0))
        starts = self("CumSum", lengths, 0, exclusive=1)
        lengths, place = self.column(lengths), self("Range", 0, longest, 1)
        index = self("Add", self.column(starts), place)
        inside = self("Less", place, lengths)
        total = self("ReduceSum", lengths, keepdims=0)
        return self("Where", inside, index, total), lengths

    def pick(self, values: str, places: str, other: Any) -> str:
        """Look up flat values, with another value after their end."""
        return self("Gather", self("Concat", values, other, axis=0), places)

    def compact(self, values: str, real: str, count: str, other: Any) -> tuple:
        """Move the valid values of each row to the left.

        Args:
            values: `(B, T)`.
            real: `(B, T)`, 0 or `False` at positions without a value.
            count: The number of rows, `(1,)`.
            other: The value for padding, `(1,)`.

        Returns:
            `(B, T')` and lengths `(B, 1)`.
        """
        found = self("NonZero", real)  # (2, N)
        rows = self("Gather", found, 0)
        places, lengths = self.places(rows, count)
        flat = self("GatherND", values, self("Transpose", found))
        return self.pick(flat, places, other), lengths

    def framed(self, ids: str, count: str, max_length: int | None) -> str:
        """Add start and end to ids, and truncate them, like `tokenize`.

        Args:
            ids: `(B, T)`; 0 at any position means no id.
            count: The number of rows, `(1,)`.
            max_length: Maximum number of ids in a row, or `None`.

        Returns:
            `(B, T')` int32.
        """
        ids, lengths = self.compact(ids, ids, count, [0])
        if max_length is not None:
            most = max_length - FRAME
            ids = self("Slice", ids, [0], [most], [1])
            lengths = self("Min", lengths, most)
        edge = self("Concat", count, [1], axis=0)
        edges = [self("Expand", x, edge) for x in (START, 0)]
        ids = self("Concat", edges[0], ids, edges[1], axis=1)
        width = self("Squeeze", self("Shape", ids, start=1))
        last = self("Add", lengths, 1)
        ends = self("Equal", self("Range", 0, width, 1), last)
        int32 = self.onnx.TensorProto.INT32
        return self("Cast", self("Where", ends, END, ids), to=int32)

    def framed_words(
        self, words: str, ids: str, count: str, max_length: int | None
    ) -> str:
        """Add empty strings where `framed` adds start and end.

        Args:
            words: The word of each id, `(B, T)`.
            ids: As in `framed`.
            count: The number of rows, `(1,)`.
            max_length: As in `framed`.

        Returns:
            `(B, T')`.
        """
        words, _ = self.compact(words, ids, count, strings(""))
        if max_length is not None:
            words = self("Slice", words, [0], [max_length - FRAME], [1])
        edge = self("Concat", count, [1], axis=0)
        empty = self("Expand", strings(""), edge)
        return self("Concat", empty, words, empty, axis=1)

    def joined(self, x: str) -> str:
        """Join the strings of each row `(B, T)`, pair by pair, to `(B,)`."""
        edge = self("Concat", self("Shape", x, end=1), [1], axis=0)
        empty = self("Expand", strings(""), edge)
        x = self("Concat", x, empty, axis=1)
        body = self.onnx.parser.parse_graph(JOIN.replace("EMPTY", empty))
        return self("Squeeze", self("Loop", LONGEST, True, x, body=body), [1])

    def changed(
        self, x: str, letters: Collection[str], change: Callable
    ) -> str:
        """Change texts only if one of some letters is in them.

        Nodes take time even if they change nothing, and most texts have none of
        the letters.

        Args:
            x: Strings `(B, T)`, padded with `""`.
            letters: The strings without which `change` does nothing.
            change: Function from `x` to strings `(B, T')` that adds nodes.

        Returns:
            Strings `(B, T)` or `(B, T')`.
        """
        if not letters:
            return x
        found = self.look_up(x, dict.fromkeys(sorted(letters), 1), 0)
        found = self("Concat", self("Reshape", found, [-1]), [0], axis=0)
        found = self("Greater", self("ReduceMax", found, keepdims=0), 0)
        branches = {}
        for name, run in (
            ("then_branch", change),
            ("else_branch", lambda x: self("Identity", x)),
        ):
            outside, self.nodes = self.nodes, []
            result = run(x)
            kind = self.onnx.TensorProto.STRING
            result = self.onnx.helper.make_tensor_value_info(
                result, kind, [None, None]
            )
            branches[name] = self.onnx.helper.make_graph(
                self.nodes, name, [], [result]
            )
            self.nodes = outside
        return self("If", found, **branches)

    def mapped(self, letters: str, table: dict[str, str]) -> str:
        """Replace strings that are in a table, in any shape."""
        if not table:
            return letters
        found = self.look_up(letters, table, NO_STRING)
        missing = self("Equal", found, strings(NO_STRING))
        return self("Where", missing, letters, found)

    def stripped(self, x: str) -> str:
        """Strip ASCII whitespace from strings of any shape."""
        flat = self("Reshape", x, [-1])
        bare = self.tokens(flat, tokenexp=BARE)  # (N, 1), or (N, 0)
        edge = self("Concat", self("Shape", flat), [1], axis=0)
        bare = self("Concat", bare, self("Expand", strings(""), edge), axis=1)
        bare = self("Gather", bare, 0, axis=1)
        return self("Reshape", bare, self("Shape", x), allowzero=1)

    def spaced(self, words: str, joins: str, separator: str) -> str:
        """Join words `(B, T)`; there is no separator where `joins` is true."""
        space = self("Where", joins, strings(""), strings(separator))
        return self.joined(self("StringConcat", space, words))

    def first_column(self, ids: str) -> str:
        """Return which column of ids `(T,)` is the first."""
        width = self("Squeeze", self("Shape", ids, start=1))
        return self("Equal", self("Range", 0, width, 1), 0)

    def normalized(self, letters: str, normalization: str) -> str:
        """Normalize characters.

        Args:
            letters: `(B, T)`, padded with `""`.
            normalization: The form, as in a tokenizer.

        Returns:
            `(B, T')`.
        """
        if normalization == "identity":
            return letters
        form = normalization.upper()
        composes = form.endswith("C")
        parts, marks, pairs, _ = read_unicode(form)
        count = self("Shape", letters, end=1)
        edge = self("Expand", strings(""), self("Concat", count, [1], axis=0))
        letters = self("Concat", letters, edge, axis=1)  # behind each row
        width = self("Shape", letters, start=1)
        letters = self("Reshape", letters, [-1])
        place = self("Range", 0, self("Size", letters), 1)
        rows = self("Div", place, width)
        known = {*parts, *marks, *pairs.values()}
        known |= {x for pair in pairs for x in divmod(pair, SHIFT)}
        known = sorted(known.union(*(map(ord, x) for x in parts.values())))
        codes = self.look_up(letters, {chr(x): x for x in known}, -1)
        # Others are negative: their places, from which they come back.
        own = self("Sub", -1, place)
        codes = self("Where", self("Less", codes, 0), own, codes)
        table = {code: i for i, code in enumerate(parts, start=1)}
        table = self.look_up(codes, table, 0)
        columns = zip_longest([-1], *(map(ord, x) for x in parts.values()))
        table = self(
            "Gather", [[x or 0 for x in y] for y in columns], table, axis=1
        )
        table = self("Where", self("Equal", table, -1), codes, table)
        table = self("Transpose", table)  # (N, parts of each)
        found = self("NonZero", table)
        codes = self("GatherND", table, self("Transpose", found))
        rows = self("Gather", rows, self("Gather", found, 0))
        kinds = self.look_up(codes, marks, 0)
        codes, kinds = self._in_order(codes, kinds)
        for _ in range(COMPOSED if composes else 0):
            codes, kinds, rows = self._composed(codes, kinds, rows, pairs)
        back = self.look_up(codes, {x: chr(x) for x in known}, "")
        places = self("Max", self("Sub", -1, codes), 0)
        same = self("Gather", letters, places)
        letters = self("Where", self("Less", codes, 0), same, back)
        return self.pick(letters, self.places(rows, count)[0], strings(""))

    def _in_order(self, codes, kinds):
        """Sort the marks after a character by combining class."""
        begins = self("Cast", self("Equal", kinds, 0), to=self.int64)
        group = self("Mul", self("CumSum", begins, 0), 256)
        key = self("Add", group, kinds)
        size = self("Shape", key)
        _, order = self("TopK", key, size, outputs=2, largest=0)
        return self("Gather", codes, order), self("Gather", kinds, order)

    def _composed(self, codes, kinds, rows, pairs):
        """Compose each character with the first mark that it can combine with.

        Values after the end of a row have no code, so nothing combines with
        them.
        """
        base = self("Equal", kinds, 0)
        bases = self("Reshape", self("NonZero", base), [-1])
        bases = self("Concat", [0], bases, axis=0)
        counts = self("Cast", base, to=self.int64)
        before = self("CumSum", counts, 0, exclusive=1)
        first = self("Gather", bases, before)  # the last base before each
        place = self("Range", 0, self("Size", codes), 1)
        between = self.before(kinds, 0)
        free = self("Equal", first, self("Sub", place, 1))
        lower = self(
            "And", self("Less", 0, between), self("Less", between, kinds)
        )
        free = self("And", self("Or", free, lower), self("Less", 0, before))
        free = self("And", free, self("Less", 0, codes))
        pair = self("Mul", self("Gather", codes, first), SHIFT)
        found = self.look_up(self("Add", pair, codes), pairs, 0)
        free = self("And", free, self("Less", 0, found))
        second = self("Reshape", self("NonZero", free), [-1])
        first = self("Gather", first, second)
        new = self("Not", self("Equal", first, self.before(first, -1)))
        first, second = (
            self("Compress", x, new, axis=0) for x in (first, second)
        )
        found = self("Gather", found, second)
        codes = self("ScatterElements", codes, first, found)
        gone = self("Expand", False, self("Shape", second))
        kept = self("Expand", True, self("Shape", codes))
        kept = self("ScatterElements", kept, second, gone)
        return [self("Compress", x, kept, axis=0) for x in (codes, kinds, rows)]
