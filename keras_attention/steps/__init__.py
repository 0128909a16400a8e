"""The steps that tokenizers consist of, without Keras."""

from .pieces import NormalizeWords as NormalizeWords
from .pieces import SentencePieces as SentencePieces
from .pieces import WordPieces as WordPieces
from .primitives import AbstractStep as AbstractStep
from .primitives import Join as Join
from .primitives import LookUp as LookUp
from .primitives import Normalize as Normalize
from .primitives import Pieces as Pieces
from .primitives import Replace as Replace
from .primitives import Split as Split
from .primitives import Words as Words
from .tags import Tags as Tags
