"""What every tokenizer shares: special ids, cleaning, framing."""

import tensorflow as tf

from keras_attention.text.cleaning import check_normalization
from keras_attention.text.cleaning import clean
from keras_attention.text.saved import AbstractSaved

PAD, UNKNOWN, START, END = range(4)
SPECIAL_NAMES = ("", "<unk>", "<s>", "</s>")  # how `tokens` shows them


class AbstractTokenizer(AbstractSaved):
    """Turns strings into ids and back, inside the TensorFlow graph.

    Ids 0 to 3 are pad, unknown, start and end; a tokenizer's own begin at 4.
    A subclass writes `encode`, `split` and `decode`, which see none of the
    first four but unknown, and `get_config`.

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
        check_normalization(normalization, type(self).__name__)
        self.normalization = normalization
        self.lowercase = bool(lowercase)
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
        """Split cleaned strings into the pieces that `encode` gives ids to.

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
            unknown: Strings `(B, T)`, or one: what to write for unknown ids.

        Returns:
            Strings `(B,)`.
        """
        raise NotImplementedError

    @property
    def vocabulary_size(self) -> int:
        """The number of ids, the four special ones included."""
        return self._names.shape[0]

    @property
    def vocabulary(self) -> list[str]:
        """What the ids 4, 5, ... are called, in this order."""
        names = self._names[len(SPECIAL_NAMES) :].numpy().tolist()
        return [name.decode() for name in names]

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
        return self._framed(
            self.encode(self.clean(_as_strings(text))), max_length
        )

    def surfaces(self, text):
        """Split strings into the pieces behind the ids of `tokenize`.

        Args:
            text: Strings `(B,)`: a tensor, a list or an array.

        Returns:
            Strings as a ragged tensor `(B, None)`: the piece of the cleaned
            text behind every id between the start and the end.
        """
        return self.split(self.clean(_as_strings(text)))

    def detokenize(self, ids, unknown=None):
        """Turn ids into strings.

        Args:
            ids: `(B, T)` int32 or int64. Pads and starts are dropped, and
                the first end with all behind it.
            unknown: Strings `(B, T)`: what to write for an unknown id in the
                same place. `unknown_text`, if empty or not given.

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
        own = own_ids(ids)
        if unknown is None:
            unknown = tf.constant(self.unknown_text)
        else:
            unknown = tf.convert_to_tensor(unknown, tf.string)
            unknown = tf.where(unknown == "", self.unknown_text, unknown)
            unknown = tf.ragged.boolean_mask(unknown, own).to_tensor()
        ids = tf.ragged.boolean_mask(self._known(ids), own)
        return self.decode(ids.to_tensor(PAD), unknown)

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
        return clean(text, self.normalization, self.lowercase)

    def get_config(self):
        return {
            "normalization": self.normalization,
            "lowercase": self.lowercase,
        }

    def _framed(self, ids, max_length):
        """Put start and end around ragged ids, by operations LiteRT has."""
        if max_length is not None and max_length < 2:
            raise ValueError(
                "`tokenize` needs room for the start and the end id. "
                f"Received: max_length={max_length}. Give at least 2."
            )
        lengths = ids.row_lengths()  # (B,)
        if max_length is not None:
            lengths = tf.minimum(lengths, max_length - 2)
        longest = tf.reduce_max(tf.pad(lengths, [[0, 1]]))
        rows = ids.to_tensor(PAD)[:, :longest]  # LiteRT's are too wide
        rows = tf.pad(rows, [[0, 0], [1, 1]])
        place = tf.range(tf.shape(rows, tf.int64)[1])
        rows = tf.where(place == 0, START, rows)
        rows = tf.where(place == lengths[:, None] + 1, END, rows)
        return tf.ensure_shape(rows, (None, None))

    def _known(self, ids):
        inside = (ids >= 0) & (ids < self.vocabulary_size)
        unknown = tf.cast(UNKNOWN, ids.dtype)
        return tf.cast(tf.where(inside, ids, unknown), tf.int32)


def own_ids(ids):
    """Tell the ids that spell text from the frame and what is behind it.

    Args:
        ids: `(B, T)` int32 or int64.

    Returns:
        Booleans `(B, T)`.
    """
    ended = tf.cumsum(tf.cast(ids == END, tf.int32), axis=1) > 0
    return ~ended & (ids != PAD) & (ids != START)


def _as_strings(text):
    text = tf.convert_to_tensor(text, tf.string)
    if text.shape.rank not in (1, None):
        raise ValueError(
            "`tokenize` needs a batch of strings, `(B,)`. "
            f"Received: text.shape={text.shape}. Put one string into a list."
        )
    return text
