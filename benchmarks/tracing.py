"""Time of what is traced: the first step of `fit`, and a SavedModel.

Each run makes a new model. `Seq2Seq.fit` is compared with itself as Keras runs
it, which creates the optimizer's variables in the first trace; what writes the
signatures of a translator, with `keras.export.ExportArchive`. CPU time of all
threads, by turns in one process.

    python benchmarks/tracing.py [--rounds 7]
"""

import argparse
import tempfile

import keras
import numpy as np
import tensorflow as tf
from interleave import Here
from interleave import ratio
from shortlist import make_model

from keras_attention import BeamSearch
from keras_attention import CharacterTokenizer
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention.export.saved_model import save_signatures
from keras_attention.export.translation_graph import TEXT
from keras_attention.export.translation_graph import TranslationGraph

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class AsKeras(Seq2Seq):
    """A model whose training begins as that of any Keras model."""

    make_train_function = keras.Model.make_train_function


def train(kind: type, config: dict):
    """Train a new model for one step."""
    model = kind.from_config(config)
    model.compile("adam", SequenceCrossentropy(), jit_compile=False)
    ids = np.random.default_rng(0).integers(4, 100, (8, 10))
    model.fit((ids, ids), ids, verbose=0)


def export(by_archive: bool):
    """Write the SavedModel of a new translator."""
    tokenizer = CharacterTokenizer(LETTERS)
    model = make_model(tokenizer.vocabulary_size)
    search = BeamSearch(5, max_length=30)
    graph = TranslationGraph(model, tokenizer, tokenizer, search)
    with tempfile.TemporaryDirectory() as folder:
        if by_archive:
            archive = keras.export.ExportArchive()
            archive.track(graph.source_tokenizer)
            archive.track(graph.target_tokenizer)
            translate, align = graph.translate_text, graph.align_text
            archive.add_endpoint("serving_default", translate, [TEXT])
            archive.add_endpoint("align", align, [TEXT])
            archive.write_out(folder, verbose=False)
            return
        functions = {
            name: tf.function(function, [TEXT], autograph=False)
            for name, function in (
                ("serving_default", graph.translate_text),
                ("align", graph.align_text),
            )
        }
        tokenizers = graph.source_tokenizer, graph.target_tokenizer
        save_signatures(folder, functions, tokenizers)


def main(rounds: int):
    """Print a line for each."""
    config = make_model(100).get_config()
    sides = [Here(lambda x=x: train(x, config)) for x in (Seq2Seq, AsKeras)]
    print(f"first step of fit | {ratio(*sides, rounds)}", flush=True)
    sides = [Here(lambda x=x: export(x)) for x in (False, True)]
    print(f"SavedModel | {ratio(*sides, rounds)}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    main(parser.parse_args().rounds)
