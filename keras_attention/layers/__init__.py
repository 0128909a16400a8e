"""What layers of every folder share."""

from .kernels import AbstractKernelLayer as AbstractKernelLayer
from .masks import carried_mask as carried_mask
