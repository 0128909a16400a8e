"""Models and their parts: encoder, encoder-decoder, copying, lexicon."""

from .copying import PointerGenerator as PointerGenerator
from .encoder import RecurrentEncoder as RecurrentEncoder
from .lexical import LexicalTranslation as LexicalTranslation
from .seq2seq import Seq2Seq as Seq2Seq
