"""The command `show FOLDER`, which describes a saved translator."""

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

from keras_attention.models import Seq2Seq
from keras_attention.models.combination import AbstractCombination
from keras_attention.translation import about_writing
from keras_attention.translator import MAIN_FILE
from keras_attention.translator import MODEL
from keras_attention.translator import Translator


def run(arguments: argparse.Namespace):
    """Print a description of a saved translator."""
    found = describe(arguments.folder)
    if arguments.json:
        print(json.dumps(found, indent=1))
        return
    for name, value in found.items():
        if isinstance(value, dict):
            value = ", ".join(f"{k} {v}" for k, v in value.items())
        print(f"{name}: {value}")


def describe(folder: Path) -> dict[str, Any]:
    """Describe a saved translator.

    Args:
        folder: Path to the saved translator.

    Returns:
        Strings, numbers, and dictionaries of these.

    Raises:
        ValueError: If it cannot be loaded. The message names the file.
    """
    translator = Translator.load(folder)
    main = folder / MAIN_FILE
    files = [x for x in folder.rglob("*") if x.is_file()]
    search = translator.search
    return {
        "folder": str(folder),
        "bytes": sum(x.stat().st_size for x in files),
        "sha256": hashlib.sha256(main.read_bytes()).hexdigest(),
        **about_writing(main, folder / MODEL),
        "model": _describe_model(translator.model),
        "source": _describe_tokenizer(translator.source_tokenizer),
        "target": _describe_tokenizer(translator.target_tokenizer),
        "search": {"class": type(search).__name__, **search.get_config()},
        "max_source_length": translator.max_source_length,
        "replace_unknown": translator.replace_unknown,
        "shortlist": _describe_shortlist(translator.shortlist),
    }


def _describe_model(model):
    found = {
        "class": type(model).__name__,
        "weights": model.count_params(),
        "dtype": model.dtype_policy.name,
    }
    if isinstance(model, AbstractCombination):
        found["models"] = _kinds(model.models)
    if isinstance(model, Seq2Seq):
        found["encoder"] = type(model.encoder).__name__
        found["attention"] = _kinds(model.decoder.cell.attentions) or None
        found["copying"] = model.copying
        found["lexical"] = model.lexical
    return found


def _kinds(objects):
    return " ".join(type(x).__name__ for x in objects)


def _describe_shortlist(shortlist):
    if shortlist is None:
        return None
    _, candidates = shortlist.table.shape
    return {"candidates": candidates, "always": len(shortlist.always)}


def _describe_tokenizer(tokenizer):
    if tokenizer is None:  # the model reads features
        return None
    parts = tokenizer.parts
    sizes = [x.vocabulary_size for x in parts]
    return {
        "class": _kinds(parts),
        "vocabulary_size": sizes if len(sizes) > 1 else sizes[0],
    }
