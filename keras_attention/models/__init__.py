"""Whole models: encoder, bridge, decoder, and the four of them together."""

from .bridge import StateBridge as StateBridge
from .copying import PointerGenerator as PointerGenerator
from .decoder import AttentionDecoder as AttentionDecoder
from .encoder import RecurrentEncoder as RecurrentEncoder
from .seq2seq import Seq2Seq as Seq2Seq
from .words import AbstractWordModel as AbstractWordModel
