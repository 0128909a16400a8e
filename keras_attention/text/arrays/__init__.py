"""The operations of TensorFlow that text needs, on NumPy arrays.

Names and results are TensorFlow's. Strings are arrays of Python strings; a
byte that is not UTF-8 is half of a surrogate pair, as `surrogateescape` has it.
"""

from . import lookup as lookup
from . import math as math
from . import ragged as ragged
from . import strings as strings
from .dense import Module as Module
from .dense import TensorSpec as TensorSpec
from .dense import __version__ as __version__
from .dense import autograph as autograph
from .dense import boolean_mask as boolean_mask
from .dense import cast as cast
from .dense import clip_by_value as clip_by_value
from .dense import concat as concat
from .dense import constant as constant
from .dense import convert_to_tensor as convert_to_tensor
from .dense import cumsum as cumsum
from .dense import ensure_shape as ensure_shape
from .dense import float32 as float32
from .dense import function as function
from .dense import gather as gather
from .dense import int32 as int32
from .dense import int64 as int64
from .dense import maximum as maximum
from .dense import minimum as minimum
from .dense import pad as pad
from .dense import range as range
from .dense import reduce_max as reduce_max
from .dense import reshape as reshape
from .dense import shape as shape
from .dense import size as size
from .dense import stack as stack
from .dense import string as string
from .dense import unique as unique
from .dense import where as where
