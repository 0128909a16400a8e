"""From text to ids and back, and from files to batches."""

from .base import AbstractTokenizer as AbstractTokenizer
from .character import CharacterTokenizer as CharacterTokenizer
from .dataset import parallel_dataset as parallel_dataset
from .files import read_lines as read_lines
from .files import read_parallel as read_parallel
from .saved import AbstractSaved as AbstractSaved
from .sentencepiece import SentencePieceTokenizer as SentencePieceTokenizer
from .sentences import as_bytes as as_bytes
from .vocabulary import (
    AbstractVocabularyTokenizer as AbstractVocabularyTokenizer,
)
from .word import WordTokenizer as WordTokenizer
from .wordpiece import WordPieceTokenizer as WordPieceTokenizer
