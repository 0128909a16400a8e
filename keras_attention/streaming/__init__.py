"""Generation while a source arrives in parts, for unidirectional models."""

from .state import StreamState as StreamState
from .steps import StreamSteps as StreamSteps
from .stream import Stream as Stream
from .stream import StreamProgram as StreamProgram
