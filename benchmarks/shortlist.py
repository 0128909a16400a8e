r"""Time of a search with a shortlist, as a part of its time without one.

Sources of 25 words, 30 words a target, an LSTM of 512 units, additive
attention, outputs of 256. The shortlist has 100 words for all texts and 30 for
each source word, drawn at random. CPU time of all threads, by turns in one
process; the median of the ratios.

    python benchmarks/shortlist.py [--vocabularies 8000 32000] [--batches 1 8]

With a translator, it trains a shortlist for it on a text of two files, and
prints BLEU with it and without, and the ratio of the times:

    python benchmarks/shortlist.py --translator FOLDER --source FILE \
        --target FILE --train-source FILE --train-target FILE
"""

import argparse
import functools
import time
from pathlib import Path

import keras
import numpy as np
import sacrebleu
from interleave import Here
from interleave import ratio

import keras_attention as ka

SIZE, WORDS, STEPS = 256, 25, 30
ALWAYS, CANDIDATES = 100, 30
SEARCHES = {
    "greedy": ka.GreedySearch(STEPS, min_length=STEPS),
    "5 beams": ka.BeamSearch(5, max_length=STEPS, min_length=STEPS),
}


def make_model(vocabulary: int, tied: bool = False) -> ka.Seq2Seq:
    """Make a model with random weights, and with tied embeddings or not."""
    cell = ka.AttentionDecoderCell(
        keras.layers.LSTMCell(2 * SIZE),
        ka.BahdanauAttention(SIZE),
        attention_layer_size=SIZE,
    )
    model = ka.Seq2Seq(
        source_vocabulary_size=vocabulary,
        target_vocabulary_size=vocabulary,
        embedding_dim=SIZE,
        encoder=ka.RecurrentEncoder(SIZE),
        bridge=ka.StateBridge(),
        decoder=ka.AttentionDecoder(cell),
        tie_embeddings=tied,
    )
    model.build(((None, None), (None, None)))
    return model


def draw_shortlist(vocabulary: int) -> ka.Shortlist:
    """Draw a shortlist whose candidates are all different."""
    draw = np.random.default_rng(0).integers
    table = draw(4, vocabulary, (vocabulary, CANDIDATES))
    return ka.Shortlist(table, np.arange(4, 4 + ALWAYS))


def print_ratios(vocabulary: int, batches: list[int], rounds: int):
    """Print a line for each search and batch."""
    model, shortlist = make_model(vocabulary), draw_shortlist(vocabulary)
    draw = np.random.default_rng(1).integers
    for name, search in SEARCHES.items():
        for batch in batches:
            source = draw(4, vocabulary, (batch, WORDS))

            run = functools.partial(model.generate, source, search, None, False)
            sides = Here(functools.partial(run, shortlist)), Here(run)
            found = ratio(*sides, rounds)
            print(
                f"{vocabulary} | {name} | batch {batch} | {found}", flush=True
            )


def print_bleu(folder: Path, files: list[Path], texts: list[Path], rounds: int):
    """Print BLEU of a translator with a shortlist and without, and times."""
    whole = ka.Translator.load(folder)
    parts = whole.model, whole.source_tokenizer, whole.target_tokenizer
    options = whole.search, whole.max_source_length, whole.replace_unknown
    start = time.process_time()
    batches = ka.parallel_dataset(*texts, *parts[1:], batch_size=64)
    shortlist = ka.Shortlist.train(whole.model, batches, CANDIDATES, ALWAYS)
    print(f"trained in {time.process_time() - start:.0f} CPU seconds")
    fast = ka.Translator(*parts, *options, shortlist)
    source, target = (x.read_text("utf-8").splitlines() for x in files)
    for name, translator in {"with": fast, "without": whole}.items():
        found = translator(source, verbose=0)
        found = [x if isinstance(x, str) else x[0] for x in found]
        metric = sacrebleu.metrics.BLEU()
        score = metric.corpus_score(found, [target]).score
        print(f"{name} a shortlist: BLEU {score:.2f}", flush=True)

    sides = [
        Here(functools.partial(x, source, verbose=0)) for x in (fast, whole)
    ]
    print(f"time {ratio(*sides, rounds)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--vocabularies", nargs="+", type=int, default=[8000, 32000]
    )
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 8, 64])
    parser.add_argument("--rounds", type=int, default=7)
    for side in ("translator", "source", "target"):
        parser.add_argument(f"--{side}", type=Path)
    for side in ("train-source", "train-target"):
        parser.add_argument(f"--{side}", type=Path)
    given = parser.parse_args()
    if given.translator is None:
        for vocabulary in given.vocabularies:
            print_ratios(vocabulary, given.batches, given.rounds)
    else:
        print_bleu(
            given.translator,
            [given.source, given.target],
            [given.train_source, given.train_target],
            given.rounds,
        )
