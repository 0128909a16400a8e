"""Guides: scripts that are run, and become pages and notebooks.

A guide is a Python file in percent format. All guides that have changed run in
two kernels at most, so that TensorFlow is loaded twice. What they print and
draw is kept in `.cache/guides`, by a hash of the guide, of what it runs beside
it, and of the package.

A cell's metadata `alt="..."` is the alternative text of its pictures.
"""

import base64
import hashlib
import logging
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jupytext
import nbformat
from mkdocs.structure.files import File
from nbclient import NotebookClient

LOG = logging.getLogger("mkdocs.plugins.guides")
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "guides"
CACHE = ROOT / ".cache" / "guides"
EXTRAS = "text,plots,litert,onnx,serving"
KERNELS = 2
FIRST = "devices"  # which makes them before TensorFlow begins
# Files that a guide runs in a clone; .github/workflows/docs.yml has them too.
BESIDE = {
    "coming_from_tfa": ("tests/golden/tfa/page/*",),
    "serving": ("examples/serve/*.py", "examples/litert_translate.py"),
}
SEED = "keras.utils.set_random_seed(0)"
# A guide begins in a folder and with names of its own. What is loaded stays,
# and the garbage collector need not look at it again.
BEGIN = f"""\
%reset -f
import gc, os, tempfile
import keras
import matplotlib.pyplot
import tensorflow
tensorflow.get_logger().setLevel("ERROR")
matplotlib.pyplot.close("all")
keras.backend.clear_session()
gc.freeze()
{SEED}
os.chdir(tempfile.mkdtemp())
%reset -f
"""
HEAD = "[Notebook]({0}.ipynb){{ download }} · [Script]({0}.py){{ download }}\n"
KERNELSPEC = {
    "display_name": "Python 3",
    "language": "python",
    "name": "python3",
}
KERNEL = {  # its environment
    "KERAS_BACKEND": "tensorflow",
    "PYTHONPATH": str(ROOT),
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "-1",
}


def on_files(files, config):
    """Add a page, a notebook and the pictures of every guide."""
    for name, notebook in run_guides().items():
        page, pictures = as_markdown(name, notebook)
        own = {f"{name}.md": page, **pictures}
        repository = None if name in BESIDE else config.repo_url
        own[f"{name}.ipynb"] = as_notebook(notebook, repository)
        for uri, content in own.items():
            files.append(
                File.generated(config, f"guides/{uri}", content=content)
            )
    return files


def run_guides() -> dict[str, nbformat.NotebookNode]:
    """Run the guides that have changed; return all, with their outputs."""
    scripts = {path.stem: path for path in sorted(FOLDER.glob("*.py"))}
    kept = {name: _kept(path) for name, path in scripts.items()}
    fresh = {
        name: jupytext.read(path)
        for name, path in scripts.items()
        if not kept[name].exists()
    }
    names = sorted(fresh, key=lambda name: name != FIRST)
    shares = [
        {name: fresh[name] for name in names[i::KERNELS]}
        for i in range(min(KERNELS, len(names)))
    ]
    with ThreadPoolExecutor(KERNELS) as pool:
        list(pool.map(_run, shares))
    CACHE.mkdir(parents=True, exist_ok=True)
    for name, notebook in fresh.items():
        for old in CACHE.glob(f"{name}-*.ipynb"):
            old.unlink()
        nbformat.write(notebook, kept[name])
    return {name: nbformat.read(path, 4) for name, path in kept.items()}


def _kept(script: Path) -> Path:
    """Return the file that has the outputs of this state of a guide."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for pattern in ("keras_attention/**/*.py", *BESIDE.get(script.stem, ())):
        for path in sorted(ROOT.glob(pattern)):
            digest.update(path.read_bytes())
    digest.update(script.read_bytes())
    return CACHE / f"{script.stem}-{digest.hexdigest()[:16]}.ipynb"


def _run(notebooks: dict[str, nbformat.NotebookNode]):
    """Run all cells of all notebooks, one after the other, in one kernel."""
    cells, begins = [], {}
    for name, notebook in notebooks.items():
        begins[len(cells)] = name
        cells.append(nbformat.v4.new_code_cell(BEGIN))
        cells.extend(notebook.cells)
    whole = nbformat.v4.new_notebook(cells=cells)

    def tell(cell_index, **_):
        if name := begins.get(cell_index):
            LOG.info("Running the guide %s", name)

    client = NotebookClient(
        whole,
        timeout=1200,
        kernel_name="python3",
        coalesce_streams=True,
        on_cell_start=tell,
    )
    client.execute(env={**os.environ, **KERNEL})


def as_markdown(
    name: str, notebook: nbformat.NotebookNode
) -> tuple[str, dict[str, bytes]]:
    """Write a notebook with outputs as a page.

    Args:
        name: The name of the guide.
        notebook: What has been run.

    Returns:
        The page, and its pictures by their names.
    """
    parts, pictures = [], {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            if png := output.get("data", {}).get("image/png"):
                file = f"{name}-{len(pictures)}.png"
                pictures[file] = base64.b64decode(png)
                parts.append(f"![{cell.metadata['alt']}]({file})")
            elif text := _text(output):
                parts.append(f"```{{ .text .output }}\n{text}\n```")
    title, _, rest = "\n\n".join(parts).partition("\n")
    return f"{title}\n\n{HEAD.format(name)}\n{rest}\n", pictures


def _text(output) -> str:
    """Return what a cell printed or returned; progress bars end as they do."""
    if output.get("name") == "stderr":
        return ""
    text = output.get("text") or output.get("data", {}).get("text/plain", "")
    text = re.sub(r"\x1b\[[0-9;]*m|[^\n]*\r(?!\n)|[^\n]*\x08+", "", text)
    return text.strip("\n")


def as_notebook(notebook: nbformat.NotebookNode, repository: str | None) -> str:
    """Write a notebook that begins with an installation and the page's seed.

    Args:
        notebook: What has been run.
        repository: The address of the repository; `None` if it is not known,
            or if the notebook needs a clone.
    """
    what = f'# In a clone of the repository:\n%pip install -q -e ".[{EXTRAS}]"'
    if repository:
        what = f'"keras-rnn-attention[{EXTRAS}] @ git+{repository}"'
        what = f"%pip install -q {what}"
    seeded = f"{what}\n\nimport keras\n\n{SEED}"
    install = nbformat.v4.new_code_cell(seeded)
    install["id"] = "install"  # the same in every build
    whole = nbformat.from_dict(notebook)
    whole.cells = [install, *notebook.cells]
    whole.metadata["kernelspec"] = KERNELSPEC
    return nbformat.writes(whole)
