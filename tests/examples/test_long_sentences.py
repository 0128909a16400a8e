import keras
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import long_sentences as example
    from helpers import french


def test_some_sentences_are_longer_than_all_that_are_trained(tmp_path):
    french.write_corpus(tmp_path, (300, 50, 300), seed=0)
    longest = {
        part: max(len(line.split()) for line in read(tmp_path, part))
        for part in example.PARTS
    }
    trained, validated, tested = longest.values()
    assert trained == french.TRAINED
    assert validated <= trained
    assert tested == french.LONGEST


def read(folder, part):
    lines = (folder / f"{part}.en").read_text().splitlines()
    assert len(lines) == len((folder / f"{part}.fr").read_text().splitlines())
    return lines


@pytest.mark.thorough
def test_it_runs(tmp_path, capsys):
    lines = example.main(quick=True, output=tmp_path)
    assert list(lines) == ["with attention", "without attention"]
    for line in lines.values():
        assert list(line) == [5, 8, 11, 14, 17, 20, 23, 26]
        assert all(0 <= score <= 100 for score in line.values())
    picture = tmp_path / "long_sentences.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "\n  4 to 6 " in printed
    assert "\n25 to 27 " in printed
    assert printed.endswith(f"\nPicture: {picture}\n")
