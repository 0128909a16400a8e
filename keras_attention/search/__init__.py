"""Search: from one step of a model to whole sentences, and no model known."""

from .base import AbstractSearch as AbstractSearch
from .base import Generation as Generation
from .beam import BeamSearch as BeamSearch
from .greedy import GreedySearch as GreedySearch
from .sampling import Sampling as Sampling
