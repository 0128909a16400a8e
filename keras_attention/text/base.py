"""What every tokenizer shares: special ids, framing, saving and loading."""

import json
import os
from pathlib import Path

import keras
import tensorflow as tf

from keras_attention.extras import require

PAD, UNKNOWN, START, END = range(4)
SPECIAL_NAMES = ("", "<unk>", "<s>", "</s>")  # how `tokens` shows them
NORMALIZATIONS = ("nfkc", "nfc", "identity")
FILE_NAME = "tokenizer.json"


class AbstractTokenizer(tf.Module):
    """Turns strings into ids and back, inside the TensorFlow graph.

    Ids 0 to 3 are pad, unknown, start and end; a tokenizer's own begin at 4.
    A subclass writes `encode` and `decode`, which see none of the first four
    but unknown, and `get_config`.

    Text is cleaned before it is encoded: bytes that are not UTF-8 become
    U+FFFD, so nothing a client sends can stop the graph; then comes Unicode
    normalization, then lower case. Lower case is not case folding, which
    would turn the German "ß" into "ss".

    The module owns its tables, and none of them reads a file: give it to
    `keras.export.ExportArchive.track` and the SavedModel can be moved.

    Args:
        names: What the ids from 4 on are called, in their order.
        normalization: `"nfkc"`, `"nfc"` or `"identity"`, which alone works
            without `tensorflow_text`, in the graph and in this process.
        lowercase: Whether text is put into lower case.

    Raises:
        ValueError: If `normalization` is not one of these.
        ImportError: If it needs `tensorflow_text`, which is not installed.
    """

    unknown_text = SPECIAL_NAMES[UNKNOWN]

    def __init__(self, names, normalization="nfkc", lowercase=False):
        super().__init__()
        if normalization not in NORMALIZATIONS:
            raise ValueError(
                f"{type(self).__name__} needs a `normalization` it knows. "
                f"Received: normalization={normalization!r}. "
                f"Choose one of {', '.join(map(repr, NORMALIZATIONS))}."
            )
        self.normalization = normalization
        self.lowercase = bool(lowercase)
        self._text_ops()
        self._names = tf.constant([*SPECIAL_NAMES, *names], tf.string)

    def encode(self, text):
        """Turn cleaned strings into ids, without start, end and padding.

        Args:
            text: Strings `(B,)`, as `clean` returns them.

        Returns:
            Ids as a ragged int32 tensor `(B, None)`.
        """
        raise NotImplementedError

    def decode(self, ids):
        """Turn ids that are in the vocabulary into strings.

        Args:
            ids: `(B, T)` int32: unknown or from 4 on, then zeros to the right.

        Returns:
            Strings `(B,)`.
        """
        raise NotImplementedError

    @property
    def vocabulary_size(self) -> int:
        """The number of ids, the four special ones included."""
        return self._names.shape[0]

    def tokenize(self, text, max_length: int | None = None):
        """Turn strings into ids.

        Args:
            text: Strings `(B,)`: a tensor, a list or an array.
            max_length: How many ids a row may have, start and end included;
                what is beyond is cut, the end id stays.

        Returns:
            Ids `(B, T)` int32: start, the text, end, zeros to the right.

        Raises:
            ValueError: If `text` is not `(B,)`, or `max_length` is under 2.
        """
        if max_length is not None and max_length < 2:
            raise ValueError(
                "`tokenize` needs room for the start and the end id. "
                f"Received: max_length={max_length}. Give at least 2."
            )
        ids = self.encode(self.clean(_as_strings(text)))
        if max_length is not None:
            ids = ids[:, : max_length - 2]
        column = tf.ones((ids.nrows(out_type=tf.int32), 1), tf.int32)
        ids = tf.concat([START * column, ids, END * column], axis=1)
        return tf.ensure_shape(ids.to_tensor(PAD), (None, None))

    def detokenize(self, ids):
        """Turn ids into strings.

        Args:
            ids: `(B, T)` int32 or int64. Pads and starts are dropped, and
                the first end with all behind it.

        Returns:
            Strings `(B,)`. An id that is not in the vocabulary reads like
            the unknown id.

        Raises:
            ValueError: If `ids` is not `(B, T)`.
        """
        ids = tf.convert_to_tensor(ids)
        if ids.shape.rank not in (2, None):
            raise ValueError(
                "`detokenize` needs a batch of rows, `(B, T)`. "
                f"Received: ids.shape={ids.shape}. Put one row into a list."
            )
        if not ids.dtype.is_integer:  # an empty list is float32
            ids = tf.cast(ids, tf.int32)
        ended = tf.cumsum(tf.cast(ids == END, tf.int32), axis=1) > 0
        keep = ~ended & (ids != PAD) & (ids != START)
        ids = tf.ragged.boolean_mask(self._known(ids), keep)
        return self.decode(ids.to_tensor(PAD))

    def tokens(self, ids):
        """Name every id, as a plot of the attention shows it.

        Args:
            ids: `(...)` int32 or int64.

        Returns:
            Strings of the same shape. Pad is empty, the other special ids
            and what is not in the vocabulary are `<unk>`, `<s>` and `</s>`.
        """
        return tf.gather(self._names, self._known(tf.convert_to_tensor(ids)))

    def clean(self, text):
        """Make strings `(B,)` valid UTF-8, normalized and in their case.

        Args:
            text: Strings `(B,)`, any bytes.

        Returns:
            Strings `(B,)`.
        """
        text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")
        text = self._normalize(text)
        if self.lowercase:  # which can leave marks in another order
            lower = tf.strings.lower(text, encoding="utf-8")
            text = self._normalize(lower)
        return text

    def get_config(self) -> dict:
        return {
            "normalization": self.normalization,
            "lowercase": self.lowercase,
        }

    @classmethod
    def from_config(cls, config: dict):
        """Build the tokenizer that `get_config` describes."""
        return cls(**config)

    def save(self, folder: str | Path):
        """Write the tokenizer as one JSON file, whole or not at all.

        Args:
            folder: Where `tokenizer.json` goes; made if it is not there.
        """
        name = keras.saving.get_registered_name(type(self))
        content = {"class_name": name, "config": self.get_config()}
        file = Path(folder) / FILE_NAME
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f"{FILE_NAME}.{os.getpid()}.part")
        text = json.dumps(content, ensure_ascii=False, indent=1)
        draft.write_text(text, encoding="utf-8")
        draft.replace(file)

    @classmethod
    def load(cls, folder: str | Path):
        """Read what `save` wrote.

        Args:
            folder: Where `tokenizer.json` is.

        Returns:
            A tokenizer of the class that was saved.

        Raises:
            ValueError: If the file is missing, damaged, not a tokenizer's,
                or that of another class than the one that loads.
        """
        file = Path(folder) / FILE_NAME
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            name, config = content["class_name"], content["config"]
            found = keras.saving.get_registered_object(name)
            if not (isinstance(found, type) and issubclass(found, cls)):
                raise ValueError(f"it holds {name!r}")
            return found.from_config(config)
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise ValueError(
                f"`{cls.__name__}.load` needs a file that a tokenizer's "
                f"`save` wrote. Received: {file}, which cannot be used: "
                f"{type(error).__name__}: {error}. "
                "Save the tokenizer again, or name its folder."
            ) from error

    def _known(self, ids):
        inside = (ids >= 0) & (ids < self.vocabulary_size)
        unknown = tf.cast(UNKNOWN, ids.dtype)
        return tf.cast(tf.where(inside, ids, unknown), tf.int32)

    def _normalize(self, text):
        if self.normalization == "identity":
            return text
        form = self.normalization.upper()
        return self._text_ops().normalize_utf8(text, form)

    def _text_ops(self):
        if self.normalization != "identity":
            return require("tensorflow_text", "text", type(self).__name__)


def _as_strings(text):
    text = tf.convert_to_tensor(text, tf.string)
    if text.shape.rank not in (1, None):
        raise ValueError(
            "`tokenize` needs a batch of strings, `(B,)`. "
            f"Received: text.shape={text.shape}. Put one string into a list."
        )
    return text
