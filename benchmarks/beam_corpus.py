"""Sentences a second by Apache Beam, and by the translator alone.

    python benchmarks/beam_corpus.py [--sentences 20000] [--rounds 5]

It makes a model of random weights (a bidirectional LSTM of 256 units in each
direction, an LSTM of 512 with additive attention, vocabularies of 8000, greedy
search of 40 words) and made-up sentences of 1 to 40 words. The translator, and
a pipeline of `keras_attention.beam.Translate` between text files on Beam's own
runner, translate them by turns in one process, so both have all cores. The
time in which the pipeline starts and loads the translator is measured with two
sentences, and taken off.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import keras
import numpy as np

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import GreedySearch
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import StateBridge
from keras_attention import Translator
from keras_attention import WordTokenizer
from keras_attention.beam import Translate
from keras_attention.extras import require

beam = require("apache_beam", "beam", "beam_corpus.py")
VOCABULARY, UNITS, LONGEST = 8000, 256, 40


def make_translator() -> Translator:
    """Make a translator whose texts are as long as the search allows."""
    keras.utils.set_random_seed(0)
    words = [f"w{n}" for n in range(VOCABULARY - 4)]
    tokenizer = WordTokenizer(words, normalization="identity")
    cell = AttentionDecoderCell(
        keras.layers.LSTMCell(2 * UNITS), BahdanauAttention(UNITS)
    )
    model = Seq2Seq(
        source_vocabulary_size=VOCABULARY,
        target_vocabulary_size=VOCABULARY,
        embedding_dim=UNITS,
        encoder=RecurrentEncoder(UNITS),
        decoder=AttentionDecoder(cell),
        bridge=StateBridge(),
    )
    model.build(((None, None), (None, None)))
    search = GreedySearch(max_length=LONGEST)
    return Translator(model, tokenizer, tokenizer, search)


def make_sentences(count: int) -> list[str]:
    """Make up sentences of 1 to 40 words."""
    draw = np.random.default_rng(0).integers
    return [
        " ".join(f"w{n}" for n in draw(0, VOCABULARY - 4, length))
        for length in draw(1, LONGEST + 1, count)
    ]


def run_pipeline(folder: Path, sentences: list[str]) -> float:
    """Translate by Beam, from a file to a file; return the seconds."""
    (folder / "source").write_text("\n".join(sentences) + "\n")
    began = time.perf_counter()
    with beam.Pipeline("FnApiRunner") as pipeline:
        lines = pipeline | beam.io.ReadFromText(str(folder / "source"))
        translated, _ = lines | Translate(folder / "translator")
        texts = translated | beam.Map(lambda found: found.texts[0])
        texts | beam.io.WriteToText(str(folder / "target"))
    return time.perf_counter() - began


def main(sentences: int, rounds: int):
    """Print the quartiles of both, and of their ratios."""
    translator, lines = make_translator(), make_sentences(sentences)
    rates = {"translator": [], "beam": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        translator.save(folder / "translator")
        translator(lines[:2000])
        for _ in range(rounds):
            start = run_pipeline(folder, lines[:2])
            seconds = run_pipeline(folder, lines) - start
            rates["beam"].append(sentences / seconds)
            began = time.perf_counter()
            translator(lines, return_scores=True, verbose=0)
            seconds = time.perf_counter() - began
            rates["translator"].append(sentences / seconds)
    pairs = zip(rates["beam"], rates["translator"], strict=True)
    rates["beam / translator"] = [x / y for x, y in pairs]
    for name, found in rates.items():
        low, middle, high = statistics.quantiles(found, n=4)
        print(f"{name} | {middle:.2f} (quartiles {low:.2f} to {high:.2f})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sentences", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    main(**vars(parser.parse_args()))
