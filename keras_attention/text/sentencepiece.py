"""Pieces of text, by `sentencepiece`."""

import base64
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import keras
import numpy as np

from keras_attention.checks import check_choice
from keras_attention.checks import check_integer
from keras_attention.checks import check_number
from keras_attention.extras import require
from keras_attention.files import open_to_read
from keras_attention.text.base import END
from keras_attention.text.base import PAD
from keras_attention.text.base import SPECIAL_NAMES
from keras_attention.text.base import START
from keras_attention.text.base import UNKNOWN
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.cleaning import NORMALIZATIONS
from keras_attention.text.cleaning import clean
from keras_attention.text.cleaning import mend
from keras_attention.text.segmentation import load_sampler
from keras_attention.text.tensors import HAS_TENSORFLOW
from keras_attention.text.tensors import as_list
from keras_attention.text.tensors import cut_out
from keras_attention.text.tensors import tf
from keras_attention.text.training import NEEDED_BY
from keras_attention.text.training import SPACE
from keras_attention.text.training import check_room
from keras_attention.text.training import clean_batches
from keras_attention.text.training import learn_pieces
from keras_attention.text.training import load_processor
from keras_attention.text.training import parse_model

BYTES = 256


@keras.saving.register_keras_serializable(package="keras_attention")
class SentencePieceTokenizer(AbstractTokenizer):
    r"""Splits text into pieces that `sentencepiece` has learned.

    A piece is a word, a part of a word, or a character. A space belongs to
    the piece after it. So text of any language comes back exactly, spaces
    included, after normalization. The only exception is U+2581, by which the
    model writes a space.

    By default that is NFKC, as in `sentencepiece`, for models that read what
    people type: "ﬁ" becomes "fi", "…" three dots, "②" "2", and "tʰ" "th". A
    target is then learned and written so. To get it back as it was, train
    with `normalization="nfc"`, or `"identity"` for the same bytes.

    A character without a piece is spelled in bytes if the model has pieces
    for all bytes. Otherwise it is unknown: a run of such characters is one
    id.

    The model is a part of the graph and of the saved tokenizer. The attribute
    `model` is its content, which `Path("my.model").write_bytes` writes to a
    file for other tools. A model that was trained elsewhere works too: its
    special pieces get the ids 0 to 3, and the others follow in their order.
    It applies its own normalization after the one named here.

    Where TensorFlow is not installed, `sentencepiece` itself finds the pieces.
    Ids are the same, but where two segmentations have equal probability: it
    may choose the other one than the version that TensorFlow comes with.

    Args:
        model: The content of a model's file as `bytes`, or its `Path`.
        normalization: A form of Unicode, `"nfc"`, `"nfd"`, `"nfkc"` or
            `"nfkd"`, or `"identity"`. Defaults to `"nfkc"`.
        lowercase: Whether to put text into lower case. Defaults to `False`.

    Raises:
        ValueError: If `model` is neither `bytes` nor a `Path`, or cannot be
            read or used.

    Example:

    >>> from keras_attention.text import SentencePieceTokenizer
    >>> text = ["Ein Hund spielt mit einem Hund."]
    >>> tokenizer = SentencePieceTokenizer.train(text, 300)
    >>> ids = tokenizer.tokenize(["Hund  € \n"])
    >>> tokenizer.detokenize(ids).numpy()[0].decode()
    'Hund  € \n'
    """

    def __init__(
        self,
        model: bytes | Path,
        normalization: str = "nfkc",
        lowercase: bool = False,
    ):
        self.model = _content(model)
        source = model if isinstance(model, Path) else "bytes"
        description = _description(self.model, source)
        ids, names, texts = _own_pieces(description)
        super().__init__(names, normalization, lowercase)
        self.piece_ids = tf.constant(ids, tf.int32)
        self.texts = tf.constant([b"", b"", b"", b"", *texts], tf.string)
        self.added_space = _added_space(description)
        self._cut = _cutter(self.model) if HAS_TENSORFLOW else None

    def encode(self, text):
        if HAS_TENSORFLOW:
            ids, _, _ = self._cut(text)
        else:
            ids = load_processor(self.model).encode([*text])
            ids = tf.ragged.constant(ids, tf.int32)
        return ids.with_flat_values(tf.gather(self.piece_ids, ids.flat_values))

    def sample(
        self, text: list[str], rate: float, seed: int
    ) -> list[np.ndarray]:
        """Draw a segmentation of each string, for training.

        The text of the ids is the same, but for spaces at both ends. Models
        that see other segmentations in every epoch over-fit later, and mind
        misspelled words less.

        Args:
            text: Strings.
            rate: `alpha` of `sentencepiece`, above 0 and at most 1. Of a
                `"bpe"` model, the probability that a merge is left out: 0.1
                is usual. Of a `"unigram"` model, the exponent of the
                probability of segmentations, of which all are possible: the
                lower, the more even are they; 0.1 to 0.5 are usual.
            seed: The seed, from 0 to `2**32 - 1`. The same seed gives the
                same segmentations.

        Returns:
            For each string its ids `(T,)` int32, with start and end.

        Raises:
            ValueError: If `rate` or `seed` is out of range, or the model
                cuts a text in one way only.

        Reference:
            [Kudo, 2018](https://arxiv.org/abs/1804.10959);
            [Provilkov et al., 2020](https://arxiv.org/abs/1910.13267).
        """
        check_number("rate", rate, above=0, most=1)
        check_integer("seed", seed, 0, 2**32 - 1)
        texts = as_list(self.clean(tf.constant(text, tf.string)))
        found = load_sampler(self.model).sample(texts, rate, seed)
        ids = np.asarray(self.piece_ids)
        return [np.array([START, *ids[row], END], "int32") for row in found]

    def split(self, text):
        if HAS_TENSORFLOW:
            _, starts, ends = self._cut(text)
            pieces = cut_out(text, starts, ends)
        else:
            pieces = tf.ragged.constant(_surfaces(self.model, text), tf.string)
        bare = tf.strings.regex_replace(pieces.flat_values, "^ +| +$", "")
        return pieces.with_flat_values(bare)

    def decode(self, ids, unknown):
        texts = tf.gather(self.texts, ids)
        texts = tf.where(ids == UNKNOWN, unknown, texts)
        text = mend(tf.strings.reduce_join(texts, axis=1))  # joins bytes
        return tf.strings.regex_replace(text, self.added_space, "")

    def get_config(self) -> dict:
        model = base64.b64encode(self.model).decode()
        return {"model": model, **super().get_config()}

    @classmethod
    def from_config(cls, config: dict) -> Self:
        model = base64.b64decode(config["model"], validate=True)
        return cls(**{**config, "model": model})

    @classmethod
    def train(
        cls,
        sentences_or_files: Iterable[str | Path],
        vocabulary_size: int,
        model_type: str = "unigram",
        normalization: str = "nfkc",
        lowercase: bool = False,
        byte_fallback: bool | None = None,
        character_coverage: float = 0.9995,
    ) -> Self:
        """Build a tokenizer from the pieces that `sentencepiece` learns.

        The same text gives the same ids.

        Args:
            sentences_or_files: Sentences, or the `Path`s of files with one
                sentence a line, plain or gzip.
            vocabulary_size: The maximum number of ids, with the four special
                ones. A text with fewer pieces gives fewer ids.
            model_type: `"unigram"` or `"bpe"`, byte pair encoding. Defaults
                to `"unigram"`.
            normalization: A form of Unicode, `"nfc"`, `"nfd"`, `"nfkc"` or
                `"nfkd"`, or `"identity"`. Defaults to `"nfkc"`.
            lowercase: Whether to put text into lower case. Defaults to
                `False`.
            byte_fallback: Whether each of the 256 bytes gets an id. Defaults
                to `None`: if there is room for them.
            character_coverage: The share of the text whose characters get
                ids, in `(0, 1]`. Defaults to `0.9995`.

        Returns:
            The tokenizer.

        Raises:
            ValueError: If there is no text, no room, or an item that is
                neither a sentence nor a `Path`.
        """
        name = cls.__name__
        check_choice("model_type", model_type, ("unigram", "bpe"))
        check_choice("normalization", normalization, NORMALIZATIONS)
        least, what = 1, "a space"
        room = check_room(name, vocabulary_size, least, what)
        if byte_fallback is None:
            byte_fallback = room > BYTES
        if byte_fallback:
            least, what = BYTES + 1, "all bytes and a space"
            check_room(name, vocabulary_size, least, what)
        batches = clean_batches(
            lambda text: clean(text, normalization, lowercase),
            *(sentences_or_files, name),
        )
        _, model = learn_pieces(
            *(batches, name, character_coverage, room - least),
            *(vocabulary_size, model_type, byte_fallback),
        )
        return cls(model, normalization, lowercase)


def _cutter(model):
    """Make a function from strings `(B,)` to ids, starts and ends of pieces.

    A model belongs to the kernel that made it. TensorFlow drops the kernels
    of single operations at any time (`keras.utils.set_random_seed` is enough),
    but makes those of a function again when it is called. So the model is
    made in a function, which a graph holds only once.
    """
    ops = require("tensorflow_text", "text", NEEDED_BY)

    def cut(text):
        pieces = ops.SentencepieceTokenizer(model, tf.int32)
        return pieces.tokenize_with_offsets(text)

    text = tf.TensorSpec((None,), tf.string)
    return tf.function(cut, autograph=False).get_concrete_function(text)


def _surfaces(model, text):
    """List the pieces of each string, where TensorFlow is not installed."""
    forms = require(
        "sentencepiece.sentencepiece_pb2", "sentencepiece", NEEDED_BY
    )
    rows = load_processor(model).encode([*text], out_type="serialized_proto")
    rows = [forms.SentencePieceText.FromString(row).pieces for row in rows]
    return [[piece.surface for piece in row] for row in rows]


def _content(model):
    if isinstance(model, bytes):
        return model
    if not isinstance(model, Path):
        raise ValueError(
            "SentencePieceTokenizer needs a `model` as `bytes`, or the "
            f"`pathlib.Path` of its file. Received: model={model!r:.80}. "
            "Put the name of a file into a `Path`, or call `train`."
        )
    try:
        with open_to_read(model) as file:
            return file.read()
    except OSError as error:
        raise ValueError(
            "SentencePieceTokenizer needs a file that can be read. "
            f"Received: model={model}: {error.strerror}. Check the path."
        ) from error


def _description(model, source):
    """Parse a model after `sentencepiece` has loaded it without an error."""
    package = require("sentencepiece", "sentencepiece", NEEDED_BY)
    try:
        package.SentencePieceProcessor().LoadFromSerializedProto(model)
    except RuntimeError as error:
        raise ValueError(
            "SentencePieceTokenizer needs a whole model of `sentencepiece`. "
            f"Received: model={source}, {len(model)} bytes, which cannot be "
            f"used: {error}. Copy or train it again."
        ) from error
    return parse_model(model)


def _added_space(model):
    """Return the pattern of the space that the model adds, "" for none."""
    spec = model.normalizer_spec
    if not (spec.add_dummy_prefix or spec.remove_extra_whitespaces):
        return ""
    return " $" if model.trainer_spec.treat_whitespace_as_suffix else "^ "


def _own_pieces(model) -> tuple[list[int], list[str], list[bytes]]:
    """Return our ids of the pieces of a model, their names and their texts.

    Args:
        model: A `ModelProto` of `sentencepiece`.

    Returns:
        ids: Our id of each of its pieces, in their order.
        names: The names of our ids from 4 on.
        texts: How each of these is written.
    """
    spec = model.trainer_spec
    framing = {spec.pad_piece: PAD, spec.bos_piece: START, spec.eos_piece: END}
    ids, names, texts = [], [], []
    for piece in model.pieces:
        if piece.type == piece.UNKNOWN:
            ids.append(UNKNOWN)
        elif piece.type == piece.CONTROL and piece.piece in framing:
            ids.append(framing[piece.piece])
        else:
            ids.append(len(SPECIAL_NAMES) + len(names))
            names.append(piece.piece)
            texts.append(_text_of(piece))
    return ids, names, texts


def _text_of(piece):
    if piece.type == piece.CONTROL:
        return b""
    if piece.type == piece.BYTE:  # such as <0x0A>
        return bytes.fromhex(piece.piece[3:5])
    return piece.piece.replace(SPACE, " ").encode()
