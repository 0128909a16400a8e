"""Time of beam search.

Five beams, 40 steps, a vocabulary of 8000, batch 16, sources of 30 words, an
LSTM of 512 units and additive attention. The end token cannot be generated,
so every search takes all steps.

    python benchmarks/beam_search.py [--against bare tfa] [--mode xla]

Peers: `bare`, only the matrix products and `tanh` of such a search
(`sides/search_bare.py`), in the mode that is measured; and `tfa`, the
`BeamSearchDecoder` of TensorFlow Addons in a `tf.function`, which must first
find the same best hypotheses and the same scores of all beams. Ours also
returns the alignments.
"""

import argparse
from pathlib import Path

import environment
from decoder_step import MODES
from draws import search_arrays
from interleave import ratio
from process import Process
from process import compare
from process import stored
from works import SearchWork

PEERS = {"bare": "bare products", "tfa": "BeamSearchDecoder"}
TOLERANCES = {"scores": 1e-4, "tokens": 0}


def main(against: list, mode: str, peer_environment: Path):
    """Print one line for each peer and mode."""
    work = SearchWork()
    with stored(search_arrays(work)) as arrays:
        for peer in against:
            python = environment.python_of(peer, peer_environment)
            for each in MODES[mode]:
                theirs_mode = each if peer == "bare" else "default"
                with (
                    Process("ours", "search_ours", work, arrays, each) as ours,
                    Process(
                        PEERS[peer],
                        f"search_{peer}",
                        work,
                        arrays,
                        theirs_mode,
                        python,
                    ) as theirs,
                ):
                    if peer == "tfa":
                        compare(ours, theirs, TOLERANCES)
                    found = ratio(ours, theirs)
                row = f"beam search | {PEERS[peer]} | {each} | {found}"
                print(row, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--against", nargs="+", choices=PEERS, default=PEERS)
    parser.add_argument("--mode", choices=MODES, default="both")
    environment.add_arguments(parser)
    main(**vars(parser.parse_args()))
