"""Pure functions on `keras.ops`: no weights, no classes, no backend names."""

from .additive import additive_scores as additive_scores
from .additive import featured_additive_scores as featured_additive_scores
from .fast_paths import as_written as as_written
from .fast_paths import fast_path as fast_path
from .fast_paths import is_traced as is_traced
from .loops import loop_over_time as loop_over_time
from .masked_loop import freeze as freeze
from .masked_loop import last_real as last_real
from .masked_loop import masked_loop as masked_loop
from .numerics import join_masks as join_masks
from .numerics import keep_real as keep_real
from .numerics import masked_softmax as masked_softmax
from .numerics import unit_vectors as unit_vectors
from .numerics import wide_dtype as wide_dtype
from .numerics import widen as widen
from .operations import hoist as hoist
from .operations import kernels_as_they_are as kernels_as_they_are
from .products import dot_scores as dot_scores
from .products import joint_product as joint_product
from .products import mix as mix
from .products import product as product
from .recorders import hoister as hoister
from .replay import trainable_loop as trainable_loop
from .sparse import entmax15 as entmax15
from .sparse import sparsemax as sparsemax
