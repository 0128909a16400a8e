import json
import subprocess
import sys
from pathlib import Path

import pytest

english = pytest.importorskip("english")
pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.tensorflow
ROOT = Path(__file__).parents[2]
ALONE = """
import runpy, sys
for name in ("tensorflow", "keras", "keras_attention"):
    sys.modules[name] = None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture
def words(tmp_path):
    english.make_up(tmp_path)
    return english.read(english.find(tmp_path))


def test_a_word_is_in_one_part_wherever_it_stands(words):
    parts = english.split(words)
    assert sum(map(len, parts.values())) == len(words)
    assert {**parts["train"], **parts["dev"], **parts["test"]} == words
    assert len(parts["test"]) > len(parts["dev"]) > 0
    turned = english.split(dict(reversed(words.items())))
    assert turned == parts


def test_a_missing_dictionary_is_named(tmp_path):
    with pytest.raises(SystemExit, match=r"cmudict\.dict.*--download"):
        english.find(tmp_path)


@pytest.mark.thorough
def test_trains_exports_and_tests(tmp_path):
    pronounce_english = pytest.importorskip("pronounce_english")
    found = pronounce_english.main(quick=True, output=tmp_path)
    folder = tmp_path / "pronounce_en"
    assert json.loads((folder / "errors.json").read_text()) == found
    assert found.keys() == pronounce_english.FILES.keys()
    for name, rates in found.items():
        assert (folder / name).stat().st_size > 1000
        assert rates["words without stress"] <= rates["words"] <= 100
        assert rates["words a second"] > 0


def test_the_shipped_file_says_words_alone():
    script = ROOT / "examples" / "pronounce_word.py"
    command = [sys.executable, "-c", ALONE, script, "Attention", "cat"]
    said = subprocess.check_output(command, text=True)
    assert said == "Attention  AH0 T EH1 N SH AH0 N\ncat  K AE1 T\n"
