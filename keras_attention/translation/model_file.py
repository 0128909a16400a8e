"""Save and load the model of a translator without its optimizer."""

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import h5py
import keras

from keras_attention.arrays import check_finite
from keras_attention.files import check_archive
from keras_attention.files import open_to_read
from keras_attention.files import sha256_of
from keras_attention.models import AbstractModel
from keras_attention.version import __version__

ABOUT, MOST_ABOUT = "metadata.json", 10**6  # bytes; damage may claim more
PACKAGES = "keras_attention", "keras"  # whose versions are told
CONFIG, WEIGHTS = "config.json", "model.weights.h5"


def save_model(model: AbstractModel, file: Path):
    """Save a model for inference, without its compile configuration.

    An optimizer has one or two state values per weight, which would be half
    to two thirds of the file.

    Args:
        model: The model.
        file: Path to the `.keras` file. A temporary file is written next to
            it.
    """
    model.save(file)
    whole = file.replace(file.with_suffix(".whole"))
    few = file.with_suffix(".few")
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            if name == CONFIG:
                config = json.loads(old.read(name))
                new.writestr(name, json.dumps(_not_compiled(config)))
            elif name == WEIGHTS:
                with (
                    old.open(name) as content,
                    h5py.File(content) as source,
                    h5py.File(few, "w") as target,
                ):
                    _copy(source, target)
                new.write(few, name)
            else:
                new.writestr(name, old.read(name))
    whole.unlink()
    few.unlink()


def load_model(file: Path) -> AbstractModel:
    """Load a `.keras` file that `save_model` or Keras wrote.

    Args:
        file: Path to the file.

    Returns:
        The model.

    Raises:
        ValueError: If the file is damaged or a weight is not finite.
    """
    if file.exists():  # Keras says of a damaged one that it is not there
        check_archive(file)
    model = keras.saving.load_model(file)
    check_finite("A translator", [(v.path, v) for v in model.variables])
    return model


def check_content(file: Path, checksum: str | None, beside: str):
    """Raise a `ValueError` if a file has changed since it was saved.

    Args:
        file: Path to the file.
        checksum: Its SHA-256 when it was saved, or `None` if unknown.
        beside: The file that contains the checksum.
    """
    if checksum is not None and sha256_of(file) != checksum:
        raise ValueError(
            f"it is damaged, or belongs to another translator than {beside}. "
            "Copy the whole folder again. If you changed it on purpose, remove "
            f"its line from `sha256` in {beside}"
        )


def about_writing(main: Path, model: Path) -> dict[str, Any]:
    """Return when and with which package versions a translator was saved.

    Args:
        main: Path to its main file.
        model: Path to its model file.

    Returns:
        The time as `"saved"`, and the `"versions"` of `PACKAGES`.
    """
    with open_to_read(main, main.parent) as content:
        written = json.load(content)["version"]
    with open_to_read(model, main.parent) as content:
        with zipfile.ZipFile(content).open(ABOUT) as about:
            saved = json.loads(about.read(MOST_ABOUT))
    versions = written, saved.get("keras_version")
    return {
        "saved": str(saved.get("date_saved")),
        "versions": dict(zip(PACKAGES, versions, strict=True)),
    }


def upgrades(main: Path, model: Path) -> str:
    """Name the packages that are older than those that saved a translator.

    Args:
        main: Path to its main file.
        model: Path to its model file.

    Returns:
        One sentence per package; empty if the files do not record versions.
    """
    try:
        written = about_writing(main, model)["versions"]
        here = dict(
            zip(PACKAGES, (__version__, keras.__version__), strict=True)
        )
        older = [x for x in here if _parts(here[x]) < _parts(written[x])]
    except Exception:  # what is damaged is told by who reads it
        return ""
    return " ".join(
        f"{x} {written[x]} wrote it, but {here[x]} is installed: upgrade {x}."
        for x in older
    )


def _parts(version):
    return [int(x) for x in re.findall(r"\d+", version)[:3]]


def _not_compiled(config):
    """Remove the compile configuration of a model and its submodels."""
    if isinstance(config, list):
        return [_not_compiled(x) for x in config]
    if not isinstance(config, dict):
        return config
    return {
        name: None if name == "compile_config" else _not_compiled(x)
        for name, x in config.items()
    }


def _copy(source, target):
    """Copy an HDF5 group without optimizers."""
    target.attrs.update(source.attrs)
    for name, part in source.items():
        if name == "optimizer":
            continue
        if isinstance(part, h5py.Group):
            _copy(part, target.create_group(name))
        else:
            source.copy(part, target, name)
