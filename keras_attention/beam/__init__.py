"""Translation of any number of sentences, by Apache Beam."""

from .handler import Failed as Failed
from .handler import Translated as Translated
from .handler import TranslatorHandler as TranslatorHandler
from .translate import Translate as Translate
