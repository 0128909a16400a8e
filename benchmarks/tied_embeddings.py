"""Time of a search with tied embeddings, against an output layer of its own.

The model and the searches are those of `shortlist.py`. With tied embeddings the
output layer is the target embedding, transposed: the same product, once it is
turned. CPU time of all threads, by turns in one process.

    python benchmarks/tied_embeddings.py [--vocabularies 8000] [--batches 1 8]
"""

import argparse
import functools

import numpy as np
from interleave import Here
from interleave import ratio
from shortlist import SEARCHES
from shortlist import WORDS
from shortlist import make_model


def main(vocabulary: int, batches: list[int], rounds: int):
    """Print a line for each search and batch."""
    models = [make_model(vocabulary, tied) for tied in (True, False)]
    draw = np.random.default_rng(1).integers
    for name, search in SEARCHES.items():
        for batch in batches:
            source = draw(4, vocabulary, (batch, WORDS))
            sides = [
                Here(functools.partial(x.generate, source, search, None, False))
                for x in models
            ]
            found = ratio(*sides, rounds)
            print(
                f"{vocabulary} | {name} | batch {batch} | {found}", flush=True
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--vocabularies", nargs="+", type=int, default=[8000])
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 8, 64])
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    for vocabulary in given.vocabularies:
        main(vocabulary, given.batches, given.rounds)
