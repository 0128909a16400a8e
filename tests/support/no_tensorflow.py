"""Text as if TensorFlow were not installed, beside TensorFlow itself."""

import sys

from keras_attention.text import arrays


def leave_out_tensorflow(monkeypatch):
    """Let all modules run text on NumPy arrays, for one test."""
    for name, module in [*sys.modules.items()]:
        if name.startswith("keras_attention."):
            if hasattr(module, "HAS_TENSORFLOW"):
                monkeypatch.setattr(module, "HAS_TENSORFLOW", False)
            if getattr(module, "tf", None) is not None:
                monkeypatch.setattr(module, "tf", arrays)
