"""A notebook of every guide, whose first cell installs what it needs.

The pages of guides have their output already, from `docs/run.py`. Here a guide
gets a link to its notebook, and its output a style of its own.
"""

import re
import sys
from pathlib import Path

import nbformat
from mkdocs.structure.files import File
from nbformat.v4 import new_code_cell
from nbformat.v4 import new_markdown_cell
from nbformat.v4 import new_notebook

sys.path.insert(0, str(Path(__file__).parents[1]))

from run import CELL
from run import FOLDER

EXTRAS = "text,plots,litert,onnx,serving"
IN_A_CLONE = {"coming_from_tfa", "serving"}  # guides that read its files
KERNELSPEC = {
    "display_name": "Python 3",
    "language": "python",
    "name": "python3",
}
GUIDE = re.compile(r"^guides/(\w+)\.md$")
LINK = "[Download this page as a notebook]({0}.ipynb){{ download }}\n"


def on_files(files, config):
    """Add the notebook of every guide."""
    for page in sorted(FOLDER.glob("*.md")):
        if page.stem == "index":
            continue
        repository = None if page.stem in IN_A_CLONE else config.repo_url
        content = as_notebook(page.read_text(encoding="utf-8"), repository)
        uri = f"guides/{page.stem}.ipynb"
        files.append(File.generated(config, uri, content=content))
    return files


def on_page_markdown(markdown, page, **_):
    """Add the link to the notebook, and mark the output of cells."""
    guide = GUIDE.match(page.file.src_uri)
    if not guide or guide[1] in {"index", "tensorflow_serving"}:
        return markdown
    markdown = CELL.sub(
        lambda m: m[0].replace("```text\n", "```{ .text .output }\n"), markdown
    )
    title, _, rest = markdown.partition("\n")
    return f"{title}\n\n{LINK.format(guide[1])}\n{rest}"


def as_notebook(markdown: str, repository: str | None) -> str:
    """Return a guide as a notebook without output.

    Args:
        markdown: The page.
        repository: The address of the repository; `None` if it is not known,
            or if the guide needs a clone.
    """
    what = f'# In a clone of the repository:\n%pip install -q -e ".[{EXTRAS}]"'
    if repository:
        package = f"keras-rnn-attention[{EXTRAS}] @ git+{repository}"
        what = f'%pip install -q "{package}"'
    cells, end = [new_code_cell(what)], 0
    for cell in CELL.finditer(markdown):
        if text := markdown[end : cell.start()].strip():
            cells.append(new_markdown_cell(text))
        cells.append(new_code_cell(cell["code"].strip()))
        end = cell.end()
    cells.append(new_markdown_cell(markdown[end:].strip()))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # the same in every build
    metadata = {"kernelspec": KERNELSPEC}
    return nbformat.writes(new_notebook(cells=cells, metadata=metadata))
