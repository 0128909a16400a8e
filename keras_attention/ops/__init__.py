"""Pure functions on `keras.ops`: no weights, no classes, no backend names."""

from .additive import additive_scores as additive_scores
from .alignments import get_alignment as get_alignment
from .loops import freeze as freeze
from .loops import last_real as last_real
from .loops import loop_over_time as loop_over_time
from .numerics import dot_scores as dot_scores
from .numerics import keep_real as keep_real
from .numerics import masked_softmax as masked_softmax
from .numerics import product as product
from .numerics import unit_vectors as unit_vectors
from .numerics import widen as widen
