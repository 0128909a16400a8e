"""Translate any number of sentences with Apache Beam."""

from .translate import Failed as Failed
from .translate import Translate as Translate
from .translate import Translated as Translated
from .translate import TranslatorHandler as TranslatorHandler
