"""Search: from one step of a model to whole sentences, and no model known."""

from .base import AbstractSearch as AbstractSearch
from .base import Generation as Generation
from .greedy import GreedySearch as GreedySearch
