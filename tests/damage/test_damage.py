"""Damaged files of each format: an error that names the file, and no harm.

A process reads many damaged files, and may take 2 GB more than TensorFlow and
the whole files do. If it dies, that is a fault, and another one goes on behind
the file. `DAMAGES=1000` reads a thousand of each format, in ten minutes.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from keras_attention import AbstractTokenizer
from keras_attention import Translator

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COUNT = int(os.environ.get("DAMAGES", "7"))
MOST = 2 * 10**6  # kB
CHECKED = {"refused", "same"}
# Without a checksum another letter of a vocabulary is another vocabulary, and
# a whole file from elsewhere is a whole file.
FORMATS = {
    "translator": CHECKED,
    "translator without checksums": CHECKED | {"other", "swapped"},
    "tokenizers": CHECKED | {"other", "swapped"},
    "shortlist": CHECKED | {"swapped"},
    "litert": CHECKED,
    "onnx": CHECKED | {"swapped"},
    "training": CHECKED | {"swapped"},
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Read all damaged files: a row for each."""
    folder = tmp_path_factory.mktemp("damage")
    jobs = [[name, 0] for name in FORMATS]
    found = []
    while jobs:
        asked = [f"{name}:{first}:{COUNT}" for name, first in jobs]
        done = subprocess.run(
            [sys.executable, HERE / "reader.py", folder, *asked],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            timeout=120 + 2 * COUNT * len(jobs),
        )
        said = [json.loads(line) for line in done.stdout.splitlines()]
        found += [row for row in said if len(row) == 6]
        if not done.returncode:
            return found
        assert said, done.stderr
        name, number, *_ = said[-1]
        found.append([*said[-1][:4], f"died: {done.returncode}", 0])
        jobs = jobs[[x for x, _ in jobs].index(name) :]
        jobs[0][1] = number + 1
    return found


def allowed(name, number, file, how, outcome, most):
    """Other options in `translator.json` are other options, if they can be."""
    if file == "translator.json" and outcome in ("other", "swapped"):
        return True
    return outcome in FORMATS[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_file_is_refused_by_its_name(rows, name):
    found = [row for row in rows if row[0] == name]
    assert len(found) == COUNT + 1
    assert found.pop()[3:5] == ["closed", "machine"]
    kinds = [row[4].split(":")[0] for row in found]
    print(name, Counter(kinds), f"{max(x[5] for x in found) >> 10} MiB")
    assert [row for row in found if not allowed(*row)] == []
    assert "refused" in kinds
    assert "died" not in kinds


@pytest.mark.slow
def test_no_file_takes_much_memory(rows):
    assert max(row[5] for row in rows) < MOST


LAMBDA = {
    "class_name": "__lambda__",
    "config": {"code": "4wAAAA==", "defaults": None},
}
CRAFTED = [
    {"module": "os", "class_name": "system", "config": {"command": "date"}},
    {"module": "builtins", "class_name": "exec", "config": {}},
    {
        "module": "keras.layers",
        "class_name": "Lambda",
        "config": {"function": LAMBDA},
    },
    {"module": "keras.layers", "class_name": "Dense", "config": {"units": 3}},
]


@pytest.mark.parametrize("crafted", CRAFTED)
def test_a_file_names_no_code(tmp_path, crafted):
    """Classes are looked up among those that are registered for their place."""
    search = json.dumps({"search": {**crafted, "registered_name": None}})
    (tmp_path / "translator.json").write_text(search)
    with pytest.raises(ValueError, match=r"translator\.json, which cannot"):
        Translator.load(tmp_path)
    name = f"{crafted['module']}>{crafted['class_name']}"
    tokenizer = json.dumps({**crafted, "class_name": name})
    (tmp_path / "tokenizer.json").write_text(tokenizer)
    with pytest.raises(ValueError, match=r"tokenizer\.json, which cannot"):
        AbstractTokenizer.load(tmp_path)
