"""Can attention read a date? It learns to, in about two minutes.

Dates as people write them in seven languages go in, ISO 8601 comes out:

    python examples/translate_dates.py

It needs no data and no network. It trains a character model on dates that
`dates.py` makes, tells how many held-out dates come out exactly right, draws
what the model looked at, exports it for TensorFlow Serving, and reads that
back in a process that has never heard of `keras_attention`.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import keras
from dates import LANGUAGES
from dates import all_dates
from dates import make_pairs
from dates import write

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import CharacterTokenizer
from keras_attention import GreedySearch
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import TokenAccuracy
from keras_attention import Translator
from keras_attention import plot_attention
