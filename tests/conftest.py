"""What every test runs under: float64 on JAX, no test of TensorFlow elsewhere."""

import os

if os.environ.get("KERAS_BACKEND") == "jax":
    os.environ.setdefault("JAX_ENABLE_X64", "1")  # before JAX is imported
