"""Read, encode and batch parallel text, without TensorFlow."""

from .positions import Position as Position
from .positions import read_positions as read_positions
from .positions import set_positions as set_positions
