"""Write the golden files of programs of TensorFlow Addons.

    python benchmarks/tfa_golden.py [--peer-environment FOLDER]

Each program of `tfa_cases.py` is built with TensorFlow Addons, gets random
weights, and computes logits, alignments, greedy and beam search. Weights and
outputs go to `tests/golden/tfa`, and some programs also as the files that
their users have. So do weights and outputs of the program of TFA in
`docs/guides/coming_from_tfa.md`. `tests/migration` and `tests/docs` load them
into our layers, and compare.
"""

import argparse
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import environment

HERE = Path(__file__).parent
FOLDER = HERE.parent / "tests" / "golden" / "tfa"
SIDE = HERE / "sides" / "golden_tfa.py"
PAGE = HERE.parent / "docs" / "guides" / "coming_from_tfa.py"


def main(peer_environment: Path):
    """Run TensorFlow Addons, and replace the golden files by what it wrote."""
    python = environment.peer_python(peer_environment)
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}
    with tempfile.TemporaryDirectory() as scratch:
        written = Path(scratch) / "tfa"
        written.mkdir()
        subprocess.run(
            [str(python), str(SIDE), str(written), scratch, str(PAGE)],
            env={**os.environ, **quiet, "PYTHONPATH": str(HERE)},
            check=True,
        )
        shutil.rmtree(FOLDER, ignore_errors=True)
        shutil.copytree(written, FOLDER)
    size = sum(x.stat().st_size for x in FOLDER.rglob("*") if x.is_file())
    print(f"{FOLDER}: {size / 1000:.0f} kB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    environment.add_arguments(parser)
    main(**vars(parser.parse_args()))
