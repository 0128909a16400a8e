"""What a shell runs: one command a file."""

from .main import main as main
