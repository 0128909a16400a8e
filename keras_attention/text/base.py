"""What all tokenizers share: special ids, cleaning, frames, and files."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import keras
import numpy as np

from keras_attention.checks import check_choice
from keras_attention.checks import check_dense
from keras_attention.checks import check_integer
from keras_attention.checks import check_object
from keras_attention.files import open_to_read
from keras_attention.files import reading
from keras_attention.files import replaced_file
from keras_attention.text.cleaning import NORMALIZATIONS
from keras_attention.text.cleaning import clean
from keras_attention.text.sentences import as_bytes
from keras_attention.text.tensors import as_list
from keras_attention.text.tensors import as_text
from keras_attention.text.tensors import rank
from keras_attention.text.tensors import tf

PAD, UNKNOWN, START, END = range(4)
FRAME = 2  # start and end
SPECIAL_NAMES = ("", "<unk>", "<s>", "</s>")  # how `tokens` shows them
FILE_NAME = "tokenizer.json"


class AbstractTokenizer(tf.Module):
    """Turns strings into ids and back, inside the TensorFlow graph.

    The ids 0 to 3 are pad, unknown, start and end. The tokens of a vocabulary
    begin at 4. A subclass writes `encode`, `split` and `decode`, which see
    only unknown of these four, and `get_config`.

    Where TensorFlow is not installed, the same operations run on NumPy arrays
    (`text/arrays`), and arrays are returned: of int32, or of Python strings.

    Text is cleaned before it is encoded: bytes that are not UTF-8 become
    U+FFFD, so that no request can stop the graph; then text is normalized,
    then put into lower case. Lower case is not case folding, which would turn
    the German "ß" into "ss".

    The module owns its tables, and none of them reads a file: after
    `keras.export.ExportArchive.track(tokenizer)` the SavedModel can be moved.

    A tokenizer is saved as the name of its class, which is registered with
    Keras, and its config, in JSON. Nothing is pickled: one that is copied, or
    sent to another process, goes by this JSON too.

    Args:
        names: The names of the ids from 4 on, in their order.
        normalization: A form of Unicode, or `"identity"` for none. `"nfc"`
            changes no text that keyboards write; `"nfd"` cuts Hangul and
            letters with marks into their parts. `"nfkc"` and `"nfkd"` also
            replace what looks special, such as "tʰ" by "th" and "②" by "2",
            so targets come back as other strings. Defaults to `"nfc"`.
        lowercase: Whether to put text into lower case. Defaults to `False`.

    Raises:
        ValueError: If `normalization` is not one of these, or `lowercase` is
            not a boolean.
    """

    unknown_text = SPECIAL_NAMES[UNKNOWN]

    def __init__(
        self,
        names: Iterable[str],
        normalization: str = "nfc",
        lowercase: bool = False,
    ):
        super().__init__()
        check_choice("normalization", normalization, NORMALIZATIONS)
        self.normalization = normalization
        check_object("lowercase", lowercase, bool, "Give True or False.")
        self.lowercase = lowercase
        self._names = tf.constant([*SPECIAL_NAMES, *names], tf.string)

    def encode(self, text):
        """Turn cleaned strings into ids, without start, end and padding.

        Args:
            text: Strings `(B,)`, as `clean` returns them.

        Returns:
            Ids as a ragged int32 tensor `(B, None)`.
        """
        raise NotImplementedError

    def split(self, text):
        """Split cleaned strings into the pieces that `encode` looks up.

        Args:
            text: Strings `(B,)`, as `clean` returns them.

        Returns:
            Strings as a ragged tensor `(B, None)`, one for each id.
        """
        raise NotImplementedError

    def decode(self, ids, unknown):
        """Turn ids that are in the vocabulary into strings.

        Args:
            ids: `(B, T)` int32: unknown or from 4 on, then zeros to the right.
            unknown: The text of each unknown id, strings `(B, T)`, or one
                string for all of them.

        Returns:
            Strings `(B,)`.
        """
        raise NotImplementedError

    @property
    def parts(self) -> list["AbstractTokenizer"]:
        """The tokenizers whose ids `tokenize` gives: itself alone."""
        return [self]

    @property
    def vocabulary_size(self) -> int:
        """The number of ids, with the four special ones."""
        return self._names.shape[0]

    @property
    def vocabulary(self) -> list[str]:
        """The names of the ids 4, 5, ..., in this order."""
        return as_list(self._names[len(SPECIAL_NAMES) :])

    def tokenize(self, text, max_length: int | None = None):
        """Turn strings into ids.

        Args:
            text: Strings `(B,)`: a tensor, a list or an array.
            max_length: The maximum length of a row, with start and end. A
                longer row is cut, and still closed by the end id. Defaults to
                `None`, no limit.

        Returns:
            Ids `(B, T)` int32: start, the text, end, zeros to the right.

        Raises:
            ValueError: If `text` is not `(B,)`, or `max_length` is not an
                integer of at least 2.
        """
        return self._framed(
            self.encode(self.clean(_as_strings("text", text))), max_length
        )

    def count(self, text):
        """Count the ids of `tokenize`, in memory linear in the text.

        Args:
            text: Strings `(B,)`: a tensor, a list or an array.

        Returns:
            `(B,)` int32, start and end included.

        Raises:
            ValueError: If `text` is not `(B,)`.
        """
        ids = self.encode(self.clean(_as_strings("text", text)))
        return tf.cast(ids.row_lengths(), tf.int32) + FRAME

    def surfaces(self, text):
        """Split strings into the pieces behind the ids of `tokenize`.

        Args:
            text: Strings `(B,)`: a tensor, a list or an array.

        Returns:
            Strings as a ragged tensor `(B, None)`: the piece of the cleaned
            text behind each id between start and end.

        Raises:
            ValueError: If `text` is not `(B,)`.
        """
        return self.split(self.clean(_as_strings("text", text)))

    def unknown(self, text) -> list[list[str]]:
        """List what the tokenizer does not know.

        Args:
            text: Strings `(B,)`: a tensor, a list or an array.

        Returns:
            For each text the characters, words, pieces or tags of the cleaned
            text that get the unknown id, in their order.

        Raises:
            ValueError: If `text` is not `(B,)`.
        """
        text = _as_strings("text", text)
        found = [[] for _ in range(text.shape[0])]
        for part in self.parts:
            cleaned = part.clean(text)
            ids = part.encode(cleaned)
            is_unknown = np.asarray(ids.flat_values) == UNKNOWN
            rows = np.repeat(np.arange(len(found)), ids.row_lengths())
            pieces = np.asarray(part.split(cleaned).flat_values)[is_unknown]
            for row, piece in zip(rows[is_unknown], pieces, strict=True):
                found[row].append(as_text(piece))
        return found

    def detokenize(self, ids, unknown=None):
        """Turn ids into strings.

        Args:
            ids: `(B, T)` int32 or int64. Pads and starts are dropped, and so
                is everything from the first end on.
            unknown: Strings `(B, T)`: the text of an unknown id in the same
                place. `unknown_text` where it is empty. Defaults to `None`,
                `unknown_text` everywhere.

        Returns:
            Strings `(B,)`. An id that is not in the vocabulary counts as
            unknown.

        Raises:
            ValueError: If `ids` is not `(B, T)`, or not of integers.
        """
        ids = _as_ids("detokenize", ids)
        if rank(ids) not in (2, None):
            raise ValueError(
                "`detokenize` needs a batch of rows, `(B, T)`. "
                f"Received: ids.shape={ids.shape}. Put one row into a list."
            )
        own = own_ids(ids)
        if unknown is None:
            unknown = tf.constant(self.unknown_text)
        else:
            unknown = _as_strings("unknown", unknown, (2, None))
            unknown = tf.where(unknown == "", self.unknown_text, unknown)
            unknown = tf.ragged.boolean_mask(unknown, own).to_tensor()
        ids = tf.ragged.boolean_mask(self._known(ids), own)
        return self.decode(ids.to_tensor(PAD), unknown)

    def tokens(self, ids):
        """Look up the name of every id, as plots of the attention show it.

        Args:
            ids: `(...)` int32 or int64.

        Returns:
            Strings of the same shape. Pad is empty, start and end are `<s>`
            and `</s>`, unknown and ids outside the vocabulary are `<unk>`.
        """
        return tf.gather(self._names, self._known(_as_ids("tokens", ids)))

    def clean(self, text):
        """Make strings valid UTF-8, normalize them, and lower their case.

        Args:
            text: Strings `(B,)`, any bytes.

        Returns:
            Strings `(B,)`.
        """
        return clean(text, self.normalization, self.lowercase)

    def get_config(self) -> dict:
        """Return the arguments that build an equal tokenizer, for JSON."""
        return {
            "normalization": self.normalization,
            "lowercase": self.lowercase,
        }

    @classmethod
    def from_config(cls, config: dict) -> Self:
        """Build a tokenizer from what `get_config` returned.

        Args:
            config: The arguments of the constructor, as JSON holds them.

        Returns:
            The tokenizer.
        """
        return cls(**config)

    def to_json(self) -> str:
        """Write the tokenizer as text, as `save` does.

        Returns:
            JSON: the name of the class and its config.
        """
        name = keras.saving.get_registered_name(type(self))
        content = {"class_name": name, "config": self.get_config()}
        return json.dumps(content, ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Args:
            text: The JSON.

        Returns:
            A tokenizer of the class that was written.

        Raises:
            ValueError: If the text is damaged, is not a tokenizer, or holds
                one of a class that is not a subclass of this one.
        """
        needed = f"`{cls.__name__}.from_json` needs what `to_json` wrote."
        with reading(f"{str(text)[:40]!r}...", needed, "Write it again."):
            return cls._from_json(text)

    def __reduce__(self):
        return type(self).from_json, (self.to_json(),)

    def save(self, folder: str | Path) -> None:
        """Write the tokenizer to a JSON file, whole or not at all.

        Args:
            folder: The folder of `tokenizer.json`. It is made if missing.
        """
        with replaced_file(Path(folder) / FILE_NAME, ".json") as draft:
            draft.write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what `save` wrote.

        Args:
            folder: The folder of `tokenizer.json`.

        Returns:
            A tokenizer of the class that was saved.

        Raises:
            ValueError: If the file is missing or damaged, is not a tokenizer,
                or holds one of a class that is not a subclass of this one.
        """
        file = Path(folder) / FILE_NAME
        needed = f"`{cls.__name__}.load` needs a file that `save` wrote."
        way_out = "Save the tokenizer again, or name its folder."
        with reading(file, needed, way_out):
            with open_to_read(file, folder) as content:
                return cls._from_json(content.read().decode("utf-8"))

    @classmethod
    def _from_json(cls, text):
        content = json.loads(text)
        name, config = content["class_name"], content["config"]
        kind = keras.saving.get_registered_object(name)
        if kind is None:
            raise ValueError(
                f"no class is registered as {name!r}. Import the module that "
                "has it, or upgrade this package if a newer one wrote it"
            )
        if not (isinstance(kind, type) and issubclass(kind, cls)):
            raise ValueError(f"it holds {name!r}")
        return kind.from_config(config)

    def _framed(self, ids, max_length):
        """Put start and end around ragged ids, by operations of LiteRT."""
        lengths = ids.row_lengths()  # (B,)
        if max_length is not None:
            check_integer("max_length", max_length, FRAME)
            lengths = tf.minimum(lengths, max_length - FRAME)
        longest = tf.reduce_max(tf.pad(lengths, [[0, 1]]))
        rows = tf.pad(cut_or_pad(ids, longest), [[0, 0], [1, 1]])
        place = tf.range(tf.shape(rows, tf.int64)[1])
        rows = tf.where(place == 0, START, rows)
        rows = tf.where(place == lengths[:, None] + 1, END, rows)
        return tf.ensure_shape(rows, (None, None))

    def _known(self, ids):
        inside = (ids >= 0) & (ids < self.vocabulary_size)
        unknown = tf.cast(UNKNOWN, ids.dtype)
        return tf.cast(tf.where(inside, ids, unknown), tf.int32)

    def extended(self, texts: Iterable[str]) -> Self:
        """Return a tokenizer with more entries, after the old ones.

        Args:
            texts: Texts with new characters, words, symbols or tags.

        Returns:
            A new tokenizer, which knows all of them. Old entries keep their
            ids. New ones are ordered by their frequency.

        Raises:
            ValueError: If it is a tokenizer of pieces, whose ids depend on the
                text that it was trained on.
        """
        raise ValueError(
            f"{type(self).__name__} cannot be extended, because its ids depend "
            f"on the text that it was trained on. Received: {len([*texts])} "
            "texts. Train a new one, and a new model."
        )


def own_ids(ids):
    """Find the ids that stand for text.

    Args:
        ids: `(B, T)` int32 or int64.

    Returns:
        Booleans `(B, T)`: `False` at pads, at starts, and from the first end
        on.
    """
    ended = tf.cumsum(tf.cast(ids == END, tf.int32), axis=1) > 0
    return ~ended & (ids != PAD) & (ids != START)


def cut_or_pad(rows, width):
    """Cut ragged rows to a width, and only then pad them to it.

    So one long row does not make all others as long.

    Args:
        rows: Ids or strings, a ragged tensor `(B, None)`.
        width: `T`, a scalar int64.

    Returns:
        `(B, T)`, with zeros or empty strings to the right.
    """
    rows = rows.to_tensor(shape=tf.stack([-1, width]))
    return rows[:, :width]  # LiteRT pads by too much


def _as_strings(name, text, ranks=(1, None)):
    check_dense(
        "A tokenizer needs strings",
        name,
        text,
        "Give its `flat_values`, or its `to_tensor()` where rows are needed.",
    )
    try:
        text = tf.convert_to_tensor(text, tf.string)
    except (TypeError, ValueError):  # other containers, or no strings
        text = tf.convert_to_tensor(as_bytes(name, text), tf.string)
    if rank(text) not in ranks:
        raise ValueError(
            "A tokenizer needs a batch of strings, `(B,)`. "
            f"Received: {name}.shape={text.shape}. Put one string into a list."
        )
    return text


def _as_ids(method, ids):
    check_dense(f"`{method}` needs ids `(B, T)`", "ids", ids)
    ids = tf.convert_to_tensor(ids)
    if keras.backend.is_int_dtype(ids.dtype):
        return ids
    if 0 not in ids.shape:  # of which nobody knows the type
        raise ValueError(
            f"`{method}` needs ids of integers. Received: ids of {ids.dtype}. "
            "Cast them."
        )
    return tf.cast(ids, tf.int32)
