"""Attention layers: one file per way of scoring a query against a memory."""

from .bahdanau import BahdanauAttention as BahdanauAttention
from .base import AbstractAttention as AbstractAttention
from .base import Memory as Memory
from .cosine import CosineAttention as CosineAttention
from .dot import DotAttention as DotAttention
from .location import LocationAttention as LocationAttention
from .luong import LuongGeneral as LuongGeneral
from .projected import AbstractProjectedAttention as AbstractProjectedAttention
