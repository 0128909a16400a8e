"""Pieces of text, by `sentencepiece`."""

import base64
import hashlib
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import keras
import tensorflow as tf

from keras_attention.checks import check_choice
from keras_attention.extras import require
from keras_attention.text.base import END
from keras_attention.text.base import PAD
from keras_attention.text.base import SPECIAL_NAMES
from keras_attention.text.base import START
from keras_attention.text.base import UNKNOWN
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.cleaning import check_normalization
from keras_attention.text.cleaning import clean
from keras_attention.text.cleaning import mend
from keras_attention.text.files import read_sentences
from keras_attention.text.training import SPACE
from keras_attention.text.training import check_room
from keras_attention.text.training import clean_sentences
from keras_attention.text.training import frequent_characters
from keras_attention.text.training import learn_model
from keras_attention.text.training import parse_model

BYTES = 256


@keras.saving.register_keras_serializable(package="keras_attention")
class SentencePieceTokenizer(AbstractTokenizer):
    r"""Splits text into pieces that `sentencepiece` has learned.

    Pieces may be words, parts of them or characters, and a space belongs to
    the piece behind it. So text of any language comes back exactly, as it is
    after normalization, spaces included. The only exception is U+2581, by
    which the pieces write a space.

    A character without a piece is spelled in bytes, if the model has them, so
    nothing is unknown. Otherwise it is: a run of such characters is one id.

    The model is a part of the graph and of the saved tokenizer. `model` is
    its content, which `Path("my.model").write_bytes` makes a file for other
    tools. A model that was trained elsewhere is taken too: its special
    pieces become the ids 0 to 3, and the others follow in their order. What
    normalization is inside of it comes after the one named here.

    Args:
        model: The content of a model's file as `bytes`, or its `Path`.
        normalization: `"nfkc"`, `"nfc"` or `"identity"`.
        lowercase: Whether text is put into lower case.

    Raises:
        ValueError: If `model` is neither, or cannot be read or used.

    Example:

    >>> from keras_attention.text import SentencePieceTokenizer
    >>> text = ["Ein Hund spielt mit einem Hund."]
    >>> tokenizer = SentencePieceTokenizer.train(text, 300)
    >>> ids = tokenizer.tokenize(["Hund  € \n"])
    >>> tokenizer.detokenize(ids).numpy()[0].decode()
    'Hund  € \n'
    """

    def __init__(self, model, normalization="nfkc", lowercase=False):
        self.model = _content(model)
        source = model if isinstance(model, Path) else "bytes"
        description = _description(self.model, source)
        ids, names, texts = _own_pieces(description)
        super().__init__(names, normalization, lowercase)
        self._ids = tf.constant(ids, tf.int32)
        self._texts = tf.constant([b"", b"", b"", b"", *texts], tf.string)
        self._added_space = _added_space(description)
        ops = require("tensorflow_text", "text", type(self).__name__)
        self._pieces = ops.SentencepieceTokenizer(self.model, tf.int32)
        self._pieces._model_resource = _KeptModel(self.model)

    def encode(self, text):
        ids = self._pieces.tokenize(text)
        return ids.with_flat_values(tf.gather(self._ids, ids.flat_values))

    def split(self, text):
        _, starts, ends = self._pieces.tokenize_with_offsets(text)
        lengths = ends.flat_values - starts.flat_values
        text = tf.gather(text, starts.value_rowids())
        pieces = tf.strings.substr(text, starts.flat_values, lengths)
        pieces = tf.strings.regex_replace(pieces, "^ +| +$", "")
        return starts.with_flat_values(pieces)

    def decode(self, ids, unknown):
        texts = tf.gather(self._texts, ids)
        texts = tf.where(ids == UNKNOWN, unknown, texts)
        text = mend(tf.strings.reduce_join(texts, axis=1))  # of single bytes
        return tf.strings.regex_replace(text, self._added_space, "")

    def get_config(self):
        model = base64.b64encode(self.model).decode()
        return {"model": model, **super().get_config()}

    @classmethod
    def from_config(cls, config):
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
    ):
        """Build a tokenizer from the pieces that a text is best made of.

        The same text gives the same ids.

        Args:
            sentences_or_files: Sentences, or the `Path`s of files with one
                sentence a line, plain or gzip.
            vocabulary_size: The most ids there may be, the four special ones
                included. There are fewer if the text has fewer pieces.
            model_type: `"unigram"` or `"bpe"`, byte pair encoding.
            normalization: `"nfkc"`, `"nfc"` or `"identity"`.
            lowercase: Whether text is put into lower case.
            byte_fallback: Whether each of the 256 bytes gets an id. By
                default that is so if there is room for them.
            character_coverage: How much of the text the characters that get
                ids must make up.

        Returns:
            The tokenizer.

        Raises:
            ValueError: If there is no text, no room, or something that is
                neither a sentence nor a `Path`.
        """
        name = cls.__name__
        check_choice("model_type", model_type, ("unigram", "bpe"))
        check_normalization(normalization, name)
        if byte_fallback is None:
            byte_fallback = vocabulary_size > len(SPECIAL_NAMES) + BYTES
        least = BYTES + 1 if byte_fallback else 1
        what = "all bytes and a space" if byte_fallback else "a space"
        room = check_room(name, vocabulary_size, least, what)
        cleaner = partial(
            clean, normalization=normalization, lowercase=lowercase
        )
        sentences = read_sentences(sentences_or_files, name)
        sentences = clean_sentences(cleaner, sentences)
        letters = frequent_characters(
            sentences, character_coverage, room - least, name
        )
        model = learn_model(
            sentences, letters, vocabulary_size, model_type, byte_fallback, name
        )
        return cls(model, normalization, lowercase)


class _KeptModel(tf.saved_model.experimental.TrackableResource):
    """A model in the graph, which lives as long as the process.

    The one that `tensorflow_text` makes belongs to a kernel, and is gone when
    TensorFlow drops its kernels: `keras.utils.set_random_seed` is enough. A
    resource with a name of its own stays; the name tells the content, so that
    equal models share it.
    """

    def __init__(self, model):
        super().__init__()
        self._model = model
        self.resource_handle  # noqa: B018, it is made when first asked for

    def _create_resource(self):
        module = require(
            "tensorflow_text.python.ops.sentencepiece_tokenizer",
            "text",
            "SentencePieceTokenizer",
        )
        return module.gen_sentencepiece_tokenizer.sentencepiece_op(
            model=self._model,
            shared_name=hashlib.sha256(self._model).hexdigest(),
        )


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
        return model.read_bytes()
    except OSError as error:
        raise ValueError(
            "SentencePieceTokenizer needs a file that can be read. "
            f"Received: model={model}: {error.strerror}. Check the path."
        ) from error


def _description(model, source):
    """Parse a model, after `sentencepiece` itself has found it usable."""
    needed_by = "SentencePieceTokenizer"
    package = require("sentencepiece", "text", needed_by)
    try:
        package.SentencePieceProcessor().LoadFromSerializedProto(model)
    except RuntimeError as error:
        raise ValueError(
            "SentencePieceTokenizer needs a whole model of `sentencepiece`. "
            f"Received: model={source}, {len(model)} bytes, which cannot be "
            f"used: {error}. Copy or train it again."
        ) from error
    return parse_model(model, needed_by)


def _own_pieces(model):
    """Find our id of every id of a model, and our own ones' names and texts."""
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
            texts.append(_text(piece))
    return ids, names, texts


def _text(piece):
    if piece.type == piece.CONTROL:
        return b""
    if piece.type == piece.BYTE:  # such as <0x0A>
        return bytes.fromhex(piece.piece[3:5])
    return piece.piece.replace(SPACE, " ").encode()


def _added_space(model):
    """The pattern of the one space that is added to a text's words."""
    spec = model.normalizer_spec
    if not (spec.add_dummy_prefix or spec.remove_extra_whitespaces):
        return "$^"  # nowhere
    return " $" if model.trainer_spec.treat_whitespace_as_suffix else "^ "
