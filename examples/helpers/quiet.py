"""Hides what TensorFlow logs while it starts; import this module first."""

import os
import tempfile

_stderr = os.dup(2)
with tempfile.TemporaryFile() as _log:
    os.dup2(_log.fileno(), 2)
    try:
        import keras

        keras.ops.zeros(())  # finds the devices
    except BaseException:
        _log.seek(0)
        os.write(_stderr, _log.read())
        raise
    finally:
        os.dup2(_stderr, 2)
        os.close(_stderr)
