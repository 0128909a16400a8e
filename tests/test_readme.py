"""README.md and CONTRIBUTING.md: what they show runs, what they name exists."""

import random
import re
import time
from pathlib import Path

import keras
import numpy as np
import pytest
import samples
from gradients import to_numpy
from pages import snippets
from seq2seqs import SOURCE
from seq2seqs import TARGET
from seq2seqs import small_model
from tiers import some
from tiny import tiny_translator

import keras_attention as ka
from keras_attention.decoder import equations
from keras_attention.export import formats

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
GUIDES = {
    path.stem: path.read_text(encoding="utf-8")
    for path in (ROOT / "docs" / "guides").glob("*.md")
}
RECIPES = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PAIRS = {  # of German and English words
    "zwei": "two",
    "hunde": "dogs",
    "katzen": "cats",
    "spielen": "play",
    "schlafen": "sleep",
    "schnee": "snow",
    "gras": "grass",
}
# Sizes of models, and epochs.
SMALL = {"8000": "64", "512": "32", "256": "16"}
SMALL |= {"epochs=6": "epochs=1", "epochs=10": "epochs=2"}
SMALL |= {"max_length=60": "max_length=9"}


def write_corpus(folder):
    """Write the files that the snippets read: sentences of one length."""
    draw = random.Random(0)
    for part, count in (("train", 64), ("val", 8)):
        rows = [draw.choices(list(PAIRS), k=4) for _ in range(count)]
        english = [[PAIRS[word] for word in row] for row in rows]
        for language, lines in (("de", rows), ("en", english)):
            text = "".join(f"{' '.join(line)} .\n" for line in lines)
            (folder / f"{part}.{language}").write_text(text)


def touch(path, *_, **__):
    """Export, to a file that is none: formats have their own tests."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).touch()


def compile_eagerly(model, *args, plain=keras.Model.compile, **kwargs):
    """Compile for a few steps, which cost less than a trace."""
    plain(model, *args, **{"run_eagerly": True, **kwargs})


@pytest.mark.slow
@pytest.mark.usefixtures("without_graphs")
@pytest.mark.filterwarnings("ignore:.*method is custom")  # `compile_eagerly`
@pytest.mark.parametrize("sizes", some([SMALL, {}], 1), ids=["small", "all"])
def test_every_snippet_runs_in_its_order(tmp_path, monkeypatch, sizes):
    write_corpus(tmp_path)
    monkeypatch.chdir(tmp_path)
    if sizes:
        monkeypatch.setattr(keras.Model, "compile", compile_eagerly)
        for name, known in formats.FORMATS.items():
            changed = known._replace(write=touch)
            monkeypatch.setitem(formats.FORMATS, name, changed)
    scope = {}
    for code in snippets(TEXT):
        for number, smaller in sizes.items():
            code = re.sub(rf"\b{number}\b", smaller, code)
        began = time.perf_counter()
        exec(compile(code, README, "exec"), scope)
        line = len(code) - len(code.lstrip("\n"))
        print(f"line {line}: {time.perf_counter() - began:.1f} s")
    written = {path.name for path in tmp_path.iterdir()}
    assert {"de_en", "de_en_served", "de_en.tflite"} <= written


def test_it_is_short():
    assert len(TEXT.splitlines()) <= 220
    assert len(next(snippets(TEXT)).strip().splitlines()) <= 20


def quoted(guide, kind):
    """What a guide says that Keras says when it raises an error."""
    said = re.search(rf"`{kind}: (.*?)`", GUIDES[guide], re.S)[1]
    return " ".join(said.split())


def test_a_keras_file_needs_the_import(tmp_path, monkeypatch):
    model = small_model()
    model.save(tmp_path / "model.keras")
    known = keras.saving.get_custom_objects()
    monkeypatch.delitem(known, "keras_attention>Seq2Seq")
    with pytest.raises(
        TypeError, match=re.escape(quoted("training", "TypeError"))
    ):
        keras.models.load_model(tmp_path / "model.keras")


@pytest.mark.slow
def test_two_outputs_need_two_losses():
    model = small_model(return_attention_scores=True)
    model.compile("adam", loss=ka.SequenceCrossentropy())
    with pytest.raises(KeyError) as error:
        model.fit((SOURCE, TARGET), TARGET, verbose=0)
    assert quoted("looking", "KeyError") in str(error.value).replace("`", "")
    losses = [ka.SequenceCrossentropy(), None]
    model.compile("sgd", loss=losses, run_eagerly=True)
    fitted = model.fit((SOURCE, TARGET), TARGET, verbose=0)
    assert np.isfinite(fitted.history["loss"]).all()
    assert "loss=[SequenceCrossentropy(), None]" in GUIDES["looking"]


@pytest.mark.parametrize(
    ("heading", "script"),
    [("Run it", "translate_dates.py"), ("Tests", "pytest -n 2")],
)
def test_commands_start_from_a_clean_clone(heading, script):
    section = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"^```sh\n(.*?)^```$", section, re.M | re.S)
    (command,) = block.splitlines()
    assert command.startswith("python3 -m venv .venv && ")
    assert command.endswith(script)


def test_all_that_it_links_to_is_there():
    links = re.findall(r"\]\((?!http)([^)#]+)\)", TEXT)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_name_in_code_is_a_name_of_the_package():
    cells = re.findall(r"^\| (`.*?) \|", TEXT, re.M)
    names = {x for cell in cells for x in re.findall(r"`([A-Z]\w+)`", cell)}
    assert len(names) > 30
    assert names <= set(dir(ka))


def test_recipes_name_files_and_tests_that_are_there():
    paths = re.findall(r"`((?:\w+/)+[\w.]+)`", RECIPES)
    inside = [ROOT, ROOT / "keras_attention"]
    assert "tests/support/mechanisms.py" in paths
    for path in paths:
        assert "NAME" in path or any((x / path).exists() for x in inside), path
    written = "".join(x.read_text() for x in (ROOT / "tests").rglob("*.py"))
    for name in set(re.findall(r"`(test_\w+)`", RECIPES)):
        assert f"def {name}(" in written, name


def test_the_recipe_of_a_cell_gives_it_a_fast_path(monkeypatch):
    monkeypatch.setattr(equations, "_EQUATIONS", {**equations._EQUATIONS})
    code, _ = snippets(RECIPES)
    scope = {"__name__": "recipe"}
    exec(compile(code, "CONTRIBUTING.md", "exec"), scope)
    kinds = scope["DecayCell"], type("Plain", (scope["DecayCell"],), {})
    inputs = samples.sequence("float32"), samples.source("float32")
    outputs = []
    for kind in kinds:
        cell = ka.AttentionDecoderCell(kind(4), ka.BahdanauAttention(3))
        decoder = samples.build(ka.AttentionDecoder(cell))
        outputs.append(decoder(*inputs))
    np.testing.assert_allclose(*map(to_numpy, outputs), atol=1e-6)
    found = [equations.find_equations(kind(4)) for kind in kinds]
    assert isinstance(found[0], scope["DecayEquations"])
    assert found[1] is None


@pytest.mark.slow
def test_the_recipe_of_a_format_exports(monkeypatch, tmp_path):
    monkeypatch.setattr(formats, "FORMATS", {**formats.FORMATS})
    _, code = snippets(RECIPES)
    exec(compile(code, "CONTRIBUTING.md", "exec"), {})
    tiny_translator().export(tmp_path / "sizes.txt", "sizes")
    assert (tmp_path / "sizes.txt").read_text() == "(14, 14)\n"
