"""What users read is spelled right, and uses the words of the glossary."""

import subprocess
import sys

import prose
import pytest
from source import ROOT

FOLDERS = "docs", "examples", "benchmarks", "saved_models", "keras_attention"
FILES = [
    *ROOT.glob("*.md"),
    *(x for name in FOLDERS for x in sorted((ROOT / name).rglob("*.md"))),
    *(x for name in FOLDERS for x in sorted((ROOT / name).rglob("*.py"))),
]


def test_nothing_is_written_otherwise_than_in_the_glossary():
    found = [x for path in FILES for x in prose.findings(path)]
    assert not found, "\n".join(found)


def test_words_are_spelled_as_in_a_dictionary():
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", *map(str, FILES)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.md", "# Title\n\nText.\n\nAn option goes before a file.\n"),
        ("code.py", '"""Do.\n\nText.\n\nAn option goes before a file."""\n'),
        (
            "code.py",
            '"""Do."""\n\n\nX = 1\nprint("an option goes before it")\n',
        ),
        (
            "code.py",
            '"""Do."""\n\n\nx = 1\nprint(f"{x} goes before the file")\n',
        ),
    ],
)
def test_a_word_is_found_where_users_read_it(name, text, tmp_path):
    file = tmp_path / name
    file.write_text(text)
    (found,) = prose.findings(file)
    assert found == f"{file}:5: 'goes before'. Write: override."
    file.write_text(text.replace("goes before", "`goes before`"))
    assert prose.findings(file) == []
