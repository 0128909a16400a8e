"""Outputs of models, which compute scores of the next token."""

from .base import AbstractOutput as AbstractOutput
from .base import Decoded as Decoded
from .base import Source as Source
from .hard import HardAttention as HardAttention
from .lexical import LexicalTranslation as LexicalTranslation
from .pointer import PointerGenerator as PointerGenerator
from .shortlist import Shortlist as Shortlist
from .shortlist import ShortlistOutput as ShortlistOutput
from .standard import check_arguments as check_arguments
from .standard import extended_output as extended_output
from .standard import plain_output as plain_output
