"""The version: one line, read by the package and by its metadata."""

__version__ = "0.2.0"
