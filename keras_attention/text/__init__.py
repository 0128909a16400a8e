"""Tokenizers: convert text to ids and back."""

from keras_attention import steps as steps

from .base import AbstractTokenizer as AbstractTokenizer
from .character import CharacterTokenizer as CharacterTokenizer
from .copies import check_shared as check_shared
from .copies import copied_ids as copied_ids
from .files import read_lines as read_lines
from .parallel import ParallelTokenizer as ParallelTokenizer
from .sentencepiece import SentencePieceTokenizer as SentencePieceTokenizer
from .sentences import as_texts as as_texts
from .symbol import SymbolTokenizer as SymbolTokenizer
from .tagged import TaggedTokenizer as TaggedTokenizer
from .vocabulary import (
    AbstractVocabularyTokenizer as AbstractVocabularyTokenizer,
)
from .word import WordTokenizer as WordTokenizer
from .wordpiece import WordPieceTokenizer as WordPieceTokenizer
