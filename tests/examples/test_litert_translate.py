import json
import subprocess
import sys
from pathlib import Path

import keras
import pytest
from tiny import tiny_translator

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow]

if keras.backend.backend() == "tensorflow":
    import litert_translate

    from keras_attention import CharacterTokenizer
    from keras_attention import WordTokenizer

EXAMPLE = Path(__file__).parents[2] / "examples" / "litert_translate.py"
ALONE = """
import runpy, sys
for name in ("tensorflow", "keras", "keras_attention"):
    sys.modules[name] = None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
TEXTS = [
    "12 May 2021",
    "",
    "\uff24\uff2f\u00a029",
    "29 fe\u0301vr",
    "ΑΣ 雪",
    "É\u0301",
]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("litert") / "digits.tflite"
    tiny_translator().export(path, "litert")
    return path


def test_it_runs_alone_and_says_what_the_translator_says(file):
    sentences = ["905", "1", "4x2", "12345678"]
    command = [sys.executable, "-c", ALONE, EXAMPLE, file, *sentences]
    said = subprocess.check_output(command, text=True, stderr=subprocess.PIPE)
    wanted = tiny_translator()(sentences)
    lines = [f"{x}  {y}" for x, y in zip(wanted, sentences, strict=True)]
    assert said.splitlines() == lines
    assert wanted[0] == "qzu"


def test_main_gives_what_it_prints(file, capsys):
    assert litert_translate.main(True, file, ["42", "1"]) == ["vx"]
    assert capsys.readouterr().out == "vx  42\n"


@pytest.mark.parametrize("normalization", ["identity", "nfc", "nfkc"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_text_becomes_the_same_ids(normalization, lowercase):
    theirs = CharacterTokenizer.train(TEXTS, 40, 1, normalization, lowercase)
    ours = litert_translate.Characters(theirs.to_json())
    ids = ours.tokenize(TEXTS)
    assert ids.tolist() == theirs.tokenize(TEXTS).numpy().tolist()
    wanted = theirs.detokenize(ids).numpy().tolist()
    assert [ours.detokenize(row).encode() for row in ids] == wanted


def test_an_unknown_id_reads_as_the_tokenizer_reads_it():
    theirs = CharacterTokenizer("abc", "identity")
    ours = litert_translate.Characters(theirs.to_json())
    ids = theirs.tokenize(["axb"])
    wanted = theirs.detokenize(ids).numpy()[0].decode()
    assert ours.detokenize(ids.numpy()[0]) == wanted


def test_other_tokenizers_are_named():
    saved = WordTokenizer(["a"], "identity").to_json()
    assert json.loads(saved)["class_name"] == "keras_attention>WordTokenizer"
    with pytest.raises(ValueError, match=r"Received: .*WordTokenizer"):
        litert_translate.Characters(saved)
