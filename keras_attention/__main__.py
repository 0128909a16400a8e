"""Runs the commands: `python -m keras_attention`."""

import sys

from keras_attention.commands import main

if __name__ == "__main__":
    sys.exit(main())
