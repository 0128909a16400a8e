import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow]

if keras.backend.backend() == "tensorflow":
    import litert_translate

    from keras_attention import CharacterTokenizer
    from keras_attention import SymbolTokenizer
    from keras_attention import WordTokenizer

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "litert_translate.py"
DATES = ROOT / "saved_models" / "dates" / "translator.tflite"
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


def run_alone(file, sentences):
    command = [sys.executable, "-c", ALONE, EXAMPLE, file, *sentences]
    said = subprocess.check_output(command, text=True, stderr=subprocess.PIPE)
    rows = [line.split("  ", 1) for line in said.splitlines()]
    assert [row[1] for row in rows] == sentences
    return [row[0] for row in rows]


def test_it_runs_alone_and_reads_dates():
    sentences = ["12 May 2021", "Do 29.2.24", "le jeudi 29 février 2024"]
    wanted = ["2021-05-12", "2024-02-29", "2024-02-29"]
    assert run_alone(DATES, sentences) == wanted


@pytest.mark.parametrize("normalization", ["identity", "nfc", "nfkc"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_text_becomes_the_same_ids(normalization, lowercase):
    theirs = CharacterTokenizer.train(TEXTS, 40, 1, normalization, lowercase)
    ours = litert_translate.Tokenizer(theirs.to_json())
    ids = ours.tokenize(TEXTS)
    assert ids.tolist() == theirs.tokenize(TEXTS).tolist()
    wanted = theirs.detokenize(ids).tolist()
    assert [ours.detokenize(row) for row in ids] == wanted


def test_symbols_become_the_same_ids():
    theirs = SymbolTokenizer(["tʰ", "˧˧", "a\u00a0b"])
    texts = ["tʰ ˧˧  x\ta\u00a0b", "", "  ", " tʰ\n"]
    ours = litert_translate.Tokenizer(theirs.to_json())
    ids = ours.tokenize(texts)
    assert ids.tolist() == theirs.tokenize(texts).tolist()
    wanted = theirs.detokenize(ids).tolist()
    assert [ours.detokenize(row) for row in ids] == wanted


WORDS = [
    "He said: \"The man's well-known (3.5 %) 'em.\" - [x], {y}!",
    "L'homme qu'il \u201evoit\u201c « ici » : non ! ¿Qué? ¡Oh! $5 #1 @a",
    'Mann/Frau \u2018a\u2019 \u201ab\u2019 "T"-Shirt, Obst- oder-"x" -y',
    "1\u20442 jusqu'à we'll",
    "",
]


def test_words_come_out_as_the_tokenizer_writes_them():
    theirs = WordTokenizer.train(WORDS, 200, 1)
    ours = litert_translate.Tokenizer(theirs.to_json())
    ids = theirs.tokenize([*WORDS, "unknown, here"])
    draw = np.random.default_rng(0).integers
    mixed = draw(1, theirs.vocabulary_size, (200, 12))
    for rows in (ids, np.where(np.isin(mixed, (2, 3)), 1, mixed)):
        wanted = theirs.detokenize(rows.astype("int32")).tolist()
        assert [ours.detokenize(row) for row in rows] == wanted


def test_other_tokenizers_are_named():
    words = litert_translate.Tokenizer(WordTokenizer(["a"]).to_json())
    with pytest.raises(ValueError, match=r"reads Char.*Received: WordT"):
        words.tokenize(["a"])
    with pytest.raises(ValueError, match="Received: ByteTokenizer"):
        litert_translate.Tokenizer('{"class_name": "ByteTokenizer"}')
