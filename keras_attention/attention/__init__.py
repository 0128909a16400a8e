"""Attention layers: one file per layer."""

from .bahdanau import BahdanauAttention as BahdanauAttention
from .base import AbstractAttention as AbstractAttention
from .chunkwise import ChunkwiseAttention as ChunkwiseAttention
from .cosine import CosineAttention as CosineAttention
from .coverage import CoverageAttention as CoverageAttention
from .dot import DotAttention as DotAttention
from .gaussian_mixture import (
    GaussianMixtureAttention as GaussianMixtureAttention,
)
from .graph import GraphAttention as GraphAttention
from .kernel import KernelAttention as KernelAttention
from .location import LocationAttention as LocationAttention
from .location_aware import LocationAwareAttention as LocationAwareAttention
from .luong import LuongGeneral as LuongGeneral
from .memory import Memory as Memory
from .multi_head import MultiHead as MultiHead
from .pooling import AttentionPooling as AttentionPooling
from .self_attention import SelfAttention as SelfAttention
