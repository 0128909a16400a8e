"""translate_corpus: all lines of a text come out, by two workers."""

import pytest

pytestmark = pytest.mark.tensorflow
pytest.importorskip("apache_beam", reason="the extra `beam`")


@pytest.mark.slow
def test_every_line_is_translated(tmp_path, monkeypatch, capsys):
    example = pytest.importorskip("translate_corpus")
    monkeypatch.setattr(example, "PAIRS", 128)
    monkeypatch.setattr(example, "HERE", ("--runner=FnApiRunner",))
    lines = [str(7919 * n) for n in range(50)]
    (tmp_path / "lines").write_text("\n".join(lines) + "\n")
    target = tmp_path / "deep" / "translated"
    example.main(quick=True, source=str(tmp_path / "lines"), target=str(target))
    assert f"{target}-*.tsv" in capsys.readouterr().out
    (file,) = target.parent.glob("translated-0*.tsv")
    found = [line.split("\t")[0] for line in file.read_text().splitlines()]
    assert sorted(found) == sorted(lines)
    (file,) = target.parent.glob("translated-failed-*.tsv")
    assert file.read_text() == ""
