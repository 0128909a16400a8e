"""Searches, which need only a step function, and their building blocks."""

from .base import AbstractSearch as AbstractSearch
from .base import Generation as Generation
from .base import loop_while as loop_while
from .base import write as write
from .beam import BeamSearch as BeamSearch
from .constraints import ban as ban
from .constraints import forbid as forbid
from .constraints import force as force
from .greedy import GreedySearch as GreedySearch
from .hypotheses import Beams as Beams
from .hypotheses import Candidates as Candidates
from .hypotheses import begin_beams as begin_beams
from .hypotheses import coverage_scores as coverage_scores
from .hypotheses import extend_beams as extend_beams
from .hypotheses import length_penalties as length_penalties
from .hypotheses import select_beams as select_beams
from .hypotheses import take_beams as take_beams
from .path import follow_path as follow_path
from .required import RequiredPhrases as RequiredPhrases
from .sampling import Sampling as Sampling
from .sampling import draw_tokens as draw_tokens
