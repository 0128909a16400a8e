"""From text to ids and back."""

from .base import AbstractTokenizer as AbstractTokenizer
from .base import cut_or_pad as cut_or_pad
from .character import CharacterTokenizer as CharacterTokenizer
from .copies import aligned_words as aligned_words
from .copies import check_shared as check_shared
from .copies import copied_words as copied_words
from .copies import spell_source as spell_source
from .copies import spell_target as spell_target
from .files import read_lines as read_lines
from .sentencepiece import SentencePieceTokenizer as SentencePieceTokenizer
from .sentences import as_bytes as as_bytes
from .sentences import split_in_parts as split_in_parts
from .symbol import SymbolTokenizer as SymbolTokenizer
from .tagged import TaggedTokenizer as TaggedTokenizer
from .word import WordTokenizer as WordTokenizer
from .wordpiece import WordPieceTokenizer as WordPieceTokenizer
