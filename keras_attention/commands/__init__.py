"""The command-line interface."""

from .main import main as main
