"""Models and their parts: encoder, encoder-decoder, copying."""

from .copying import PointerGenerator as PointerGenerator
from .encoder import RecurrentEncoder as RecurrentEncoder
from .seq2seq import Seq2Seq as Seq2Seq
