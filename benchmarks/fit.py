"""Words per second of `fit`.

On Multi30k, with word tokens and batches of 64 sentences: a bidirectional
LSTM of 256 units in each direction, an LSTM of 512 units with additive
attention and an attentional layer, and a vocabulary of 8000
(`works.FitWork`), trained by Adam.

    python benchmarks/fit.py --data multi30k [--against tfa torch] [--mode xla]

Peers: `tfa`, `fit` of the same model with TensorFlow Addons' decoder on
Keras 2; and `torch`, the same model in eager mode. All sides get the same
batches, and must first have the same losses over five steps. The figure is
the ratio of speeds: more is better.
"""

import argparse
import itertools
from pathlib import Path

import environment
import numpy as np
from decoder_step import MODES
from draws import fit_weights
from interleave import ratio
from process import Process
from process import compare
from process import stored
from works import FitWork

from keras_attention import WordTokenizer
from keras_attention import parallel_dataset

PEERS = {"tfa": "TensorFlow Addons", "torch": "torch, eager"}
COUNT, BATCH = 20, 64
TOLERANCE = 1e-5  # a loss is a mean over hundreds of words


def read(
    data: Path, vocabulary: int, source: str = "de", target: str = "en"
) -> dict:
    """Read the first batches of a corpus.

    Args:
        data: Folder with `train.de.gz` and `train.en.gz`.
        vocabulary: Largest vocabulary size of either language.
        source: Language to translate from.
        target: Language to translate to.

    Returns:
        Ids `source_0`, `target_0`, `source_1`, ..., each `(B, T)`.
    """
    files = [data / f"train.{side}.gz" for side in (source, target)]
    tokenizers = [
        WordTokenizer.train([file], vocabulary, lowercase=True, min_frequency=2)
        for file in files
    ]
    dataset = parallel_dataset(
        *files, *tokenizers, BATCH, training=True, seed=1, max_length=60
    )
    arrays = {}
    for i, batch in enumerate(itertools.islice(dataset, COUNT)):
        (ids, known), told = batch
        arrays[f"source_{i}"] = ids.numpy()
        whole = [known[:, :1].numpy(), told.numpy()]
        arrays[f"target_{i}"] = np.concatenate(whole, axis=1)
    return arrays


def main(data: Path, against: list, mode: str, peer_environment: Path):
    """Print one line for each peer and mode."""
    work = FitWork()
    batches = read(data, work.vocabulary)
    words = sum(
        int((ids[:, 1:] != 0).sum())
        for name, ids in batches.items()
        if name.startswith("target")
    )
    with stored({**fit_weights(work), **batches}) as arrays:
        for peer in against:
            python = environment.python_of(peer, peer_environment)
            for each in MODES[mode]:
                with (
                    Process("ours", "fit_ours", work, arrays, each) as ours,
                    Process(
                        PEERS[peer], f"fit_{peer}", work, arrays, python=python
                    ) as theirs,
                ):
                    print(
                        line(PEERS[peer], each, ours, theirs, words), flush=True
                    )


def line(name: str, mode: str, ours, theirs, words: int) -> str:
    """Measure one peer in one mode, and return its line."""
    compare(ours, theirs, TOLERANCE)
    found = ratio(ours, theirs, rounds=7).speeds(words)
    return f"fit | {name} | {mode} | {found}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--against", nargs="+", choices=PEERS, default=PEERS)
    parser.add_argument("--mode", choices=MODES, default="both")
    environment.add_arguments(parser)
    main(**vars(parser.parse_args()))
