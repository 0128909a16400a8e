"""Bases and functions shared by the layers of several folders."""

from .base import AbstractConfigured as AbstractConfigured
from .base import AbstractDenseLayer as AbstractDenseLayer
from .base import AbstractKernelLayer as AbstractKernelLayer
from .base import AbstractPartMaker as AbstractPartMaker
from .base import Constraint as Constraint
from .base import Initializer as Initializer
from .base import Regularizer as Regularizer
from .base import symbolic_result as symbolic_result
from .embeddings import Dropout as Dropout
from .embeddings import Embedding as Embedding
from .embeddings import ReversibleEmbedding as ReversibleEmbedding
from .embeddings import WordDropout as WordDropout
from .recurrence import call_masked as call_masked
from .recurrence import carried_mask as carried_mask
from .recurrence import directions as directions
from .recurrence import loops_as_keras as loops_as_keras
from .recurrence import obeys_masks as obeys_masks
from .recurrence import reversed_by as reversed_by
from .recurrence import sublayers as sublayers
from .recurrence import with_mask as with_mask
