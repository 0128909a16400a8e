"""A subword tokenizer, based on `sentencepiece`."""

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
from keras_attention.steps.pieces import NEEDED_BY
from keras_attention.steps.pieces import SentencePieces
from keras_attention.steps.primitives import END
from keras_attention.steps.primitives import NORMALIZATIONS
from keras_attention.steps.primitives import START
from keras_attention.steps.primitives import AbstractStep
from keras_attention.steps.primitives import Normalize
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.files import read_sentences
from keras_attention.text.segmentation import load_sampler
from keras_attention.text.training import check_room
from keras_attention.text.training import learn_pieces

BYTES = 256


@keras.saving.register_keras_serializable(package="keras_attention")
class SentencePieceTokenizer(AbstractTokenizer):
    r"""Splits text into pieces with a `sentencepiece` model.

    A piece is a word, a part of a word, or a character. A space belongs to
    the piece after it. Therefore, decoding restores the normalized text of any
    language exactly, including spaces. The only exception is U+2581, the
    character with which the model represents a space.

    The default normalization is NFKC, as in `sentencepiece`. It suits typed
    input, because it replaces "ﬁ" by "fi", "…" by three dots, "②" by "2", and
    "tʰ" by "th". If the tokenizer is used for targets, the model is trained on
    normalized targets and generates normalized text. To keep the characters of
    targets, train the tokenizer with `normalization="nfc"`, or with
    `"identity"` to keep all bytes.

    If a character is not in any piece, it is spelled in bytes, provided that
    the model has pieces for all bytes. Otherwise the character is unknown, and
    a run of unknown characters has one id.

    The saved tokenizer contains the model. Its content is the attribute
    `model`; `Path("my.model").write_bytes(tokenizer.model)` writes it to a
    file for other tools. You can also use a model that was trained with other
    tools: its special pieces get the ids 0 to 3, and its other pieces get the
    next ids in their order. The normalization of this model is applied after
    `normalization`.

    In a TensorFlow graph, `tensorflow_text` splits the text. The ids are
    usually the same. However, if two segmentations of a text have equal
    probability, `tensorflow_text` may choose the other one, because it contains
    another version of `sentencepiece`.

    Args:
        model: The content of a model file as `bytes`, or its `Path`.
        normalization: A Unicode normalization form: `"nfc"`, `"nfd"`,
            `"nfkc"`, `"nfkd"`, or `"identity"` for none. Defaults to `"nfkc"`.
        lowercase: Whether to lowercase text. Defaults to `False`.

    Raises:
        ValueError: If `model` is neither `bytes` nor a `Path`, or is not a
            valid model.

    Example:

    >>> from keras_attention.text import SentencePieceTokenizer
    >>> text = ["Ein Hund spielt mit einem Hund."]
    >>> tokenizer = SentencePieceTokenizer.train(text, 300)
    >>> ids = tokenizer.tokenize(["Hund  € \n"])
    >>> tokenizer.detokenize(ids)[0]
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
        _check_model(self.model, source)
        self._pieces = SentencePieces(self.model)
        self._ids, names, _ = self._pieces.pieces
        super().__init__(names, normalization, lowercase)

    @property
    def steps(self) -> list[AbstractStep]:
        """The steps: normalize, and split into the pieces of the model."""
        return [self.cleaning, self._pieces]

    def sample(
        self, text: list[str], rate: float, seed: int
    ) -> list[np.ndarray]:
        """Sample a segmentation of each string (subword regularization).

        The ids decode to the same text, except for spaces at both ends. A model
        that sees different segmentations in every epoch overfits later, and is
        more robust to misspelled words.

        Args:
            text: Strings.
            rate: The option `alpha` of `sentencepiece`, above 0 and at most 1.
                For a `"bpe"` model, `rate` is the probability of skipping a
                merge; 0.1 is common. A `"unigram"` model raises the
                probabilities of segmentations to the power of `rate`: lower
                values make segmentations more equally probable; 0.1 to 0.5 are
                common.
            seed: The random seed, from 0 to `2**32 - 1`. The same seed gives
                the same segmentations.

        Returns:
            For each string, its ids `(T,)` int32, including start and end.

        Raises:
            ValueError: If `rate` or `seed` is out of range, or the model has
                only one segmentation per text.

        Reference:
            [Kudo, 2018](https://arxiv.org/abs/1804.10959);
            [Provilkov et al., 2020](https://arxiv.org/abs/1910.13267).
        """
        check_number("rate", rate, above=0, most=1)
        check_integer("seed", seed, 0, 2**32 - 1)
        texts = [*map(self.cleaning.read, text)]
        found = load_sampler(self.model).sample(texts, rate, seed)
        ids = np.array(self._ids)
        return [np.array([START, *ids[row], END], "int32") for row in found]

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
        """Train a `sentencepiece` model, and create a tokenizer with it.

        The same text gives the same ids.

        Args:
            sentences_or_files: Sentences, or `Path` objects of files with one
                sentence per line, plain or gzip.
            vocabulary_size: Maximum number of ids, including the four special
                ids. If the text has fewer pieces, there are fewer ids.
            model_type: `"unigram"` or `"bpe"` (byte pair encoding). Defaults to
                `"unigram"`.
            normalization: A Unicode normalization form: `"nfc"`, `"nfd"`,
                `"nfkc"`, `"nfkd"`, or `"identity"` for none. Defaults to
                `"nfkc"`.
            lowercase: Whether to lowercase text. Defaults to `False`.
            byte_fallback: Whether each of the 256 bytes gets an id. Defaults to
                `None`, which means `True` if the vocabulary is large enough.
            character_coverage: The fraction of the text whose characters get
                ids, in `(0, 1]`. Defaults to `0.9995`.

        Returns:
            The tokenizer.

        Raises:
            ValueError: If there is no text, `vocabulary_size` is too small, or
                an item is neither a sentence nor a `Path`.
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
        clean = Normalize(normalization, lowercase).read
        sentences = [*map(clean, read_sentences(sentences_or_files, name))]
        _, model = learn_pieces(
            *(sentences, name, character_coverage, room - least),
            *(vocabulary_size, model_type, byte_fallback),
        )
        return cls(model, normalization, lowercase)


def _content(model):
    if isinstance(model, bytes):
        return model
    if not isinstance(model, Path):
        raise ValueError(
            "SentencePieceTokenizer needs a `model` as `bytes`, or the "
            f"`pathlib.Path` of its file. Received: model={model!r:.80}. "
            "Pass a file name as a `Path`, or call `train`."
        )
    try:
        with open_to_read(model) as file:
            return file.read()
    except OSError as error:
        raise ValueError(
            "SentencePieceTokenizer needs a readable file. "
            f"Received: model={model}: {error.strerror}. Check the path."
        ) from error


def _check_model(model, source):
    """Raise a `ValueError` unless `sentencepiece` loads a model."""
    package = require("sentencepiece", "sentencepiece", NEEDED_BY)
    try:
        package.SentencePieceProcessor().LoadFromSerializedProto(model)
    except RuntimeError as error:
        raise ValueError(
            "SentencePieceTokenizer needs a valid `sentencepiece` model. "
            f"Received: model={source}, {len(model)} bytes, which cannot be "
            f"used: {error}. Copy or train it again."
        ) from error
