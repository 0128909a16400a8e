"""Text through a model: graph, batches, and what comes of it."""

from .batches import count_ids as count_ids
from .batches import run_in_batches as run_in_batches
from .checks import check_parts as check_parts
from .current_graph import CurrentGraph as CurrentGraph
from .graph import TranslationGraph as TranslationGraph
from .result import Translation as Translation
from .result import join_entries as join_entries
from .result import read_answer as read_answer
