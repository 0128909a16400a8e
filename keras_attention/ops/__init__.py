"""Pure functions on `keras.ops`: no weights, no classes, no backend names."""

from .loops import loop_over_time as loop_over_time
from .numerics import cast as cast
from .numerics import join_masks as join_masks
from .numerics import keep_real as keep_real
from .numerics import log_normalize as log_normalize
from .numerics import log_of_mean as log_of_mean
from .numerics import masked_softmax as masked_softmax
from .numerics import unit_vectors as unit_vectors
from .numerics import wide_dtype as wide_dtype
from .numerics import widen as widen
from .operations import hoist as hoist
from .operations import hoister as hoister
from .operations import portable_program as portable_program
from .positions import first_position as first_position
from .positions import source_positions as source_positions
from .products import additive_scores as additive_scores
from .products import dot_scores as dot_scores
from .products import featured_additive_scores as featured_additive_scores
from .products import joint_product as joint_product
from .products import mix as mix
from .products import product as product
from .replay import freeze as freeze
from .replay import last_real as last_real
from .replay import masked_loop as masked_loop
from .sparse import entmax15 as entmax15
from .sparse import sparsemax as sparsemax
