"""Run the guides, and write their output and pictures into their pages.

    python docs/run.py                      # all guides
    python docs/run.py first_layer speed    # these
    python docs/run.py --check first_layer  # compare, and write nothing

A guide is a page of Markdown in `docs/guides`. Its cells are the blocks of
`python`, which run in order, each guide in a process and a temporary folder of
its own. Below a cell stand its output, a block of `text`, and its pictures. A
new picture needs a line with its alternative text below the cell:
`![What it shows](images/NAME-1.png)`. A block of `py` is shown but not run.

A check compares the output line by line, apart from numbers, because those
depend on the time and the machine.
"""

import argparse
import contextlib
import difflib
import io
import multiprocessing
import os
import re
import sys
import tempfile
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "guides"
CELL = re.compile(
    r"^```python\n(?P<code>.*?)^```\n"
    r"(?P<shown>(?:\n```text\n.*?^```\n|\n!\[[^\]]*\]\(images/[^)]+\)\n)*)",
    re.M | re.S,
)
NUMBER = re.compile(r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?")
CURSOR = re.compile(r"\x1b\[[0-9;]*m|[^\n]*\r(?!\n)|[^\n]*\x08+")
ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "-1",
    "KERAS_BACKEND": "tensorflow",
    "MPLBACKEND": "agg",
    "PYTHONPATH": str(ROOT),
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


def run_guide(page: Path) -> tuple[str, dict[str, bytes], dict]:
    """Run the cells of a guide in this process and the current folder.

    Args:
        page: The Markdown file.

    Returns:
        The page with the output of this run, its pictures by their paths from
        the folder of the page, and the names that the guide has defined.
    """
    import keras

    warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
    keras.utils.set_random_seed(0)
    _pictures()  # closes those of others
    text = page.read_text(encoding="utf-8")
    scope, pictures = {"__name__": "guide"}, {}

    def run_cell(cell):
        line = text[: cell.start("code")].count("\n")
        code = compile("\n" * line + cell["code"], page, "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, scope)
        parts = [f"```python\n{cell['code']}```\n"]
        if lines := CURSOR.sub("", printed.getvalue()).strip("\n"):
            parts.append(f"```text\n{lines}\n```\n")
        texts = re.findall(r"^!\[([^\]]*)\]", cell["shown"], re.M)
        drawn = _pictures()
        if len(texts) != len(drawn):
            raise ValueError(
                f"{page}, line {line}: the cell draws {len(drawn)} pictures, "
                f"and {len(texts)} lines `![What it shows](images/...)` are "
                "below it. Write one line per picture."
            )
        for alternative, picture in zip(texts, drawn, strict=True):
            path = f"images/{page.stem}-{len(pictures) + 1}.png"
            pictures[path] = picture
            parts.append(f"![{alternative}]({path})\n")
        return "\n".join(parts)

    return CELL.sub(run_cell, text), pictures, scope


def _pictures() -> list[bytes]:
    """Return the open figures as PNG files, and close them."""
    if "matplotlib.pyplot" not in sys.modules:
        return []
    import matplotlib.pyplot as plt

    files = []
    for number in plt.get_fignums():
        file = io.BytesIO()
        plt.figure(number).savefig(
            file, bbox_inches="tight", metadata={"Software": None}
        )
        files.append(file.getvalue())
    plt.close("all")
    return files


def differences(old: str, new: str) -> list[str]:
    """Return the output lines of two pages that differ, apart from numbers.

    Args:
        old: The page as it is.
        new: The page after a run.
    """
    shown = (
        [line for x in CELL.finditer(page) for line in _plain(x["shown"])]
        for page in (old, new)
    )
    return [*difflib.unified_diff(*shown, "page", "run", n=1, lineterm="")]


def _plain(shown):
    """Return output without numbers and the spaces that align them."""
    lines = NUMBER.sub("#", shown).splitlines()
    return [" ".join(re.sub(r"([\[\]])", r" \1 ", x).split()) for x in lines]


def update(page: Path, check: bool):
    """Run one guide, and write its page and pictures or compare the output.

    Args:
        page: The Markdown file.
        check: Whether to compare, and to write nothing.
    """
    old = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        new, pictures, _ = run_guide(page)
    if check:
        if lines := differences(old, new):
            sys.exit("\n".join([f"{page} prints other lines:", *lines]))
        return
    for left in FOLDER.glob(f"images/{page.stem}-*.png"):
        left.unlink()
    for path, picture in pictures.items():
        (FOLDER / path).parent.mkdir(exist_ok=True)
        (FOLDER / path).write_bytes(picture)
    page.write_text(new, encoding="utf-8")


def run_alone(page: Path, check: bool) -> str:
    """Update a guide in a process of its own, which finds Keras imported.

    Args:
        page: The Markdown file.
        check: As of `update`.

    Returns:
        What the process said if it failed; else nothing.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tensorflow", "keras", "keras_attention"])
    with tempfile.NamedTemporaryFile() as log:
        arguments = page, check, log.name
        process = context.Process(target=_update_alone, args=arguments)
        process.start()
        process.join()
        said = log.read().decode(errors="replace")
    return f"{said}\nExit code {process.exitcode}" * (process.exitcode != 0)


def _update_alone(page, check, log):
    os.environ.update(ENVIRONMENT)
    sys.path.insert(0, str(ROOT))
    with open(log, "wb") as file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
    update(page, check)


def main():
    """Run the guides that the command line names, one process for each."""
    parser = argparse.ArgumentParser(
        description="Run guides, and write their output into their pages."
    )
    parser.add_argument("names", nargs="*", help="guides (default: all)")
    parser.add_argument(
        "--check", action="store_true", help="compare, and write nothing"
    )
    given = parser.parse_args()
    pages = {x.stem: x for x in sorted(FOLDER.glob("*.md"))}
    del pages["index"]
    if unknown := set(given.names) - set(pages):
        parser.error(f"no guide {sorted(unknown)}. Guides: {', '.join(pages)}.")
    os.environ.update(ENVIRONMENT)  # also of the process that imports Keras
    failed = []
    for name in given.names or pages:
        print(f"{name} ...", end=" ", flush=True)
        began = time.perf_counter()
        said = run_alone(pages[name], given.check)
        print(f"{time.perf_counter() - began:.0f} s", flush=True)
        if said:
            failed.append(name)
            print(said, file=sys.stderr)
    sys.exit(f"Failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
