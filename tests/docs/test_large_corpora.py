"""The page on large corpora: what it shows runs, what it names is there."""

import shutil
from pathlib import Path

import pages
import pytest
from shell import saved

from keras_attention import CharacterTokenizer
from keras_attention import parallel_dataset

pytestmark = pytest.mark.tensorflow

PAGE = Path(__file__).parents[2] / "docs" / "large_corpora.md"
TRAIN, TRANSLATE = pages.snippets(PAGE.read_text(encoding="utf-8"))


def write(*names):
    for name in names:
        Path(name).write_text("".join(f"{n}\n" for n in range(64)))


def test_a_corpus_has_a_cache_with_the_files_of_the_table(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    write("train.de", "train.en")
    digits = CharacterTokenizer("0123456789")
    scope = {"parallel_dataset": parallel_dataset, "tokenizers": 2 * [digits]}
    exec(TRAIN, scope)
    assert len(scope["train"]) == 1
    found = [x.name for x in Path("cache").rglob("*") if x.is_file()]
    named = "source.ids.values", "target.ids.values", "corpus.json"
    assert {*named, "source.ids.offsets"} <= {*found}
    assert any(name.endswith(".lock") for name in found)
    assert all(f"/{name}`" in PAGE.read_text() for name in named)


@pytest.mark.slow
def test_a_text_is_translated(tmp_path, monkeypatch):
    pytest.importorskip("apache_beam", reason="the extra `beam`")
    monkeypatch.chdir(tmp_path)
    write("corpus-1.de")
    shutil.copytree(saved(), "de_en")
    exec(TRANSLATE, {})
    (file,) = Path().glob("translated-*.tsv")
    assert len(file.read_text().splitlines()) == 64
