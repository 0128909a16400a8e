"""Generation while a source still comes in, of models that read one way."""

from .state import StreamState as StreamState
from .steps import StreamSteps as StreamSteps
from .stream import Stream as Stream
from .stream import StreamProgram as StreamProgram
