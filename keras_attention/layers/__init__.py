"""Bases and functions shared by the layers of several folders."""

from .dropout import Dropout as Dropout
from .dropout import WordDropout as WordDropout
from .embeddings import Embedding as Embedding
from .embeddings import ReversibleEmbedding as ReversibleEmbedding
from .kernels import AbstractKernelLayer as AbstractKernelLayer
from .kernels import Constraint as Constraint
from .kernels import Initializer as Initializer
from .kernels import Regularizer as Regularizer
from .masks import call_masked as call_masked
from .masks import carried_mask as carried_mask
from .masks import obeys_masks as obeys_masks
from .recurrence import directions as directions
from .recurrence import loops_as_keras as loops_as_keras
from .symbolic import symbolic_result as symbolic_result
