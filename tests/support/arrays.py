"""Arrays in JSON, for the programs that tests run beside them.

The programs load neither TensorFlow nor the package, so they need their own.
"""

import numpy as np


def to_json(arrays: dict[str, np.ndarray]) -> dict[str, dict]:
    """Turn arrays of numbers or of bytes into what JSON can hold."""
    return {
        name: {
            "dtype": x.dtype.name,
            "shape": x.shape,
            "values": [
                v.decode("latin-1") if isinstance(v, bytes) else v
                for v in x.ravel().tolist()
            ],
        }
        for name, x in arrays.items()
    }


def from_json(content: dict[str, dict]) -> dict[str, np.ndarray]:
    """Turn back what `to_json` gave."""
    return {
        name: np.array(
            [
                v.encode("latin-1") if isinstance(v, str) else v
                for v in x["values"]
            ],
            x["dtype"],
        ).reshape(x["shape"])
        for name, x in content.items()
    }
