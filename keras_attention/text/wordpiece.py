"""A subword tokenizer that LiteRT can run."""

from collections.abc import Iterable
from pathlib import Path
from typing import Self

import keras

from keras_attention.steps.pieces import INNER_JOINER
from keras_attention.steps.pieces import JOINER
from keras_attention.steps.pieces import SPACE
from keras_attention.steps.pieces import NormalizeWords
from keras_attention.steps.pieces import WordPieces
from keras_attention.steps.pieces import parse_model
from keras_attention.steps.primitives import ASCII_SPACES
from keras_attention.steps.primitives import SPECIAL_NAMES
from keras_attention.steps.primitives import AbstractStep
from keras_attention.steps.primitives import Split
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.files import read_sentences
from keras_attention.text.training import check_room
from keras_attention.text.training import learn_pieces
from keras_attention.text.vocabulary import check_no_space
from keras_attention.text.vocabulary import check_vocabulary
from keras_attention.text.vocabulary import warn_of_lost

LONGEST_PIECE = 256  # bytes, in LiteRT


@keras.saving.register_keras_serializable(package="keras_attention")
class WordPieceTokenizer(AbstractTokenizer):
    """Splits words into pieces (WordPiece), also inside a LiteRT file.

    Text is split into words at whitespace. Each word is split from the left
    into the longest pieces of the vocabulary: "Hunde." into "Hund", "##e" and
    "##.", where "##" marks a piece that continues a word. A word that cannot
    be split into pieces is unknown as a whole. Therefore, decoding restores
    the text exactly, except that all whitespace becomes single spaces, and
    unknown words are lost. The tokenizer suits languages that put spaces
    between words.

    Unlike in BERT, punctuation marks are not separate words. If they were,
    "Hunde." would be decoded as "Hunde .", and LiteRT has no operation that
    removes the space.

    LiteRT has no Unicode normalization, so `normalization` is `"identity"`.
    Control characters and invisible characters become spaces, including the
    joiners inside emoji. `lowercase` also removes accents, as BERT does:
    "Äste" becomes "aste" and "Straße" becomes "strasse".

    Args:
        vocabulary: The pieces, with the ids 4, 5, ... in this order.
        normalization: Must be `"identity"`. Defaults to `"identity"`.
        lowercase: Whether to lowercase text and remove accents. Defaults to
            `False`.

    Raises:
        ValueError: If `normalization` is not `"identity"`, or if a piece is
            empty, contains whitespace, is too long, is not a string, is a
            duplicate, or is the name of a special id.

    Example:

    >>> from keras_attention.text import WordPieceTokenizer
    >>> tokenizer = WordPieceTokenizer(["Hund", "##e", "##."])
    >>> ids = tokenizer.tokenize(["Hunde. Katze Hund"])
    >>> ids.tolist()
    [[2, 4, 5, 6, 1, 4, 3]]
    >>> tokenizer.detokenize(ids).tolist()
    ['Hunde. <unk> Hund']
    """

    def __init__(
        self,
        vocabulary: Iterable[str],
        normalization: str = "identity",
        lowercase: bool = False,
    ):
        if normalization != "identity":
            raise ValueError(
                "WordPieceTokenizer runs in LiteRT, which cannot normalize "
                f"Unicode. Received: normalization={normalization!r}. "
                "Leave it out, or use SentencePieceTokenizer."
            )
        name = type(self).__name__
        vocabulary = check_vocabulary(vocabulary, name)
        check_no_space(vocabulary, ASCII_SPACES, name)
        super().__init__(vocabulary, normalization, lowercase)
        wrong = [
            x
            for x in vocabulary
            if len(x.encode()) > LONGEST_PIECE or INNER_JOINER in x
        ]
        if wrong:
            raise ValueError(
                f"{name} needs a `vocabulary` of pieces of at most "
                f"{LONGEST_PIECE} bytes without control characters. Received: "
                f"vocabulary with {wrong[0]!r:.80}. Leave such pieces out."
            )
        warn_of_lost(self, vocabulary, NormalizeWords(lowercase))

    @property
    def steps(self) -> list[AbstractStep]:
        """The steps: clean like BERT, split into words, split into pieces."""
        pieces = WordPieces(self.vocabulary)
        return [NormalizeWords(self.lowercase), Split(), pieces]

    def get_config(self) -> dict:
        return {"vocabulary": self.vocabulary, **super().get_config()}

    @classmethod
    def train(
        cls,
        sentences_or_files: Iterable[str | Path],
        vocabulary_size: int,
        normalization: str = "identity",
        lowercase: bool = False,
        character_coverage: float = 1.0,
    ) -> Self:
        """Create a tokenizer from the most frequent pieces of words.

        `sentencepiece` learns the pieces with byte pair encoding. Every
        frequent character gets two ids: one for the beginning of a word, and
        one for the inside. The same text gives the same ids.

        Args:
            sentences_or_files: Sentences, or `Path` objects of files with one
                sentence per line, plain or gzip.
            vocabulary_size: Maximum number of ids, including the four special
                ids. If the text has fewer pieces, there are fewer ids.
            normalization: Must be `"identity"`. Defaults to `"identity"`.
            lowercase: Whether to lowercase text and remove accents. Defaults to
                `False`.
            character_coverage: The fraction of the text whose characters get
                ids, in `(0, 1]`. A word with a character without an id is
                unknown as a whole. Therefore, use a lower value only for text
                with thousands of rare characters. Defaults to `1.0`.

        Returns:
            The tokenizer.

        Raises:
            ValueError: If there is no text, `vocabulary_size` is too small, or
                an item is neither a sentence nor a `Path`.
        """
        room = check_room(cls.__name__, vocabulary_size, 2, "a character")
        name = cls.__name__
        clean = cls([], normalization, lowercase).steps[0].read
        sentences = [*map(clean, read_sentences(sentences_or_files, name))]
        # Room for all merges, and for those that only put a letter at the
        # beginning of a word.
        size = len(SPECIAL_NAMES) + 1 + room
        letters, model = learn_pieces(
            sentences, name, character_coverage, room // 2, size, "bpe"
        )
        pieces = [*letters, *(JOINER + letter for letter in letters)]
        for learned in parse_model(model).pieces[len(SPECIAL_NAMES) :]:
            begins = learned.piece.startswith(SPACE)  # a word
            joiner = "" if begins else JOINER
            pieces.append(joiner + learned.piece.removeprefix(SPACE))
        pieces = [*dict.fromkeys(filter(None, pieces))]
        return cls(pieces[:room], lowercase=lowercase)
