"""Text, model and search as one thing: call it, save it, export it."""

import json
from pathlib import Path

import keras
import numpy as np

from keras_attention.checks import check_choice
from keras_attention.checks import check_positive
from keras_attention.export import Translation
from keras_attention.export import TranslationGraph
from keras_attention.export import export_saved_model
from keras_attention.export import read_answer
from keras_attention.export import replaced_folder
from keras_attention.search import AbstractSearch
from keras_attention.search import GreedySearch
from keras_attention.text import AbstractTokenizer
from keras_attention.version import __version__

MAIN_FILE = "translator.json"
EXPORTS = {"tf_saved_model": export_saved_model}


class Translator:
    """Translates text by a trained model.

    Everything runs in one traced graph that serves all lengths. Sentences go
    through in batches of similar length, and come back in their own order.

    Args:
        model: A trained `Seq2Seq`.
        source_tokenizer: The tokenizer of its source.
        target_tokenizer: The tokenizer of its target.
        search: A search strategy. Defaults to `GreedySearch()`.

    Call arguments:
        sentences: A list or array of strings.
        return_scores: Whether to return the scores as well.
        return_attention_scores: Whether to return tokens and attention.
        batch_size: How many sentences go through at a time.

    Returns:
        A list of strings, or a list of lists of them if the search gives
        several; a `Translation`, if more is asked for.

    Raises:
        ValueError: If `sentences` is a single string, if the model is no
            `Seq2Seq`, or if a vocabulary is larger than the model's.
    """

    def __init__(self, model, source_tokenizer, target_tokenizer, search=None):
        if not hasattr(model, "generate"):
            raise ValueError(
                "Translator needs a model that generates, such as Seq2Seq. "
                f"Received: model={model}"
            )
        for side, tokenizer in (
            ("source", source_tokenizer),
            ("target", target_tokenizer),
        ):
            size = getattr(model, f"{side}_vocabulary_size")
            if size is None or tokenizer.vocabulary_size > size:
                raise ValueError(
                    f"`{side}_tokenizer` must give ids that the model knows. "
                    f"Received: vocabulary_size={tokenizer.vocabulary_size}, "
                    f"the model's {side}_vocabulary_size={size}."
                )
        self.model = model
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.search = GreedySearch() if search is None else search
        self._graph = TranslationGraph(*self._parts())

    def _parts(self):
        return (
            self.model,
            self.source_tokenizer,
            self.target_tokenizer,
            self.search,
        )

    def __call__(
        self,
        sentences,
        return_scores: bool = False,
        return_attention_scores: bool = False,
        batch_size: int = 32,
    ):
        check_positive("batch_size", batch_size)
        sentences = _as_bytes(sentences)
        run = self._graph.translate
        if return_attention_scores:
            run = self._graph.align
        order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
        found = [None] * len(sentences)
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            answer = run(np.array([sentences[i] for i in rows], object))
            answer = {name: x.numpy() for name, x in answer.items()}
            for k, i in enumerate(rows):
                found[i] = read_answer(
                    {name: x[k] for name, x in answer.items()}
                )
        if not (return_scores or return_attention_scores):
            return [entry.texts for entry in found]
        columns = zip(*found, strict=True) if found else [()] * 5
        answer = Translation(*(list(column) for column in columns))
        if not return_scores:
            answer = answer._replace(scores=None)
        if not return_attention_scores:
            nothing = {name: None for name in Translation._fields[2:]}
            answer = answer._replace(**nothing)
        return answer

    def save(self, folder: str | Path):
        """Write model, tokenizers and search into one folder.

        Args:
            folder: What `save` wrote there before is replaced, whole or not
                at all.
        """
        content = {
            "version": __version__,
            "search": keras.saving.serialize_keras_object(self.search),
        }
        with replaced_folder(folder, MAIN_FILE) as new:
            self.model.save(new / "model.keras")
            self.source_tokenizer.save(new / "source_tokenizer")
            self.target_tokenizer.save(new / "target_tokenizer")
            text = json.dumps(content, indent=1)
            (new / MAIN_FILE).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path):
        """Read what `save` wrote.

        Raises:
            ValueError: If a file is missing or damaged; it says which.
        """
        folder = Path(folder)

        def read(name, how):
            try:
                return how(folder / name)
            except (OSError, ValueError, LookupError, TypeError) as error:
                raise ValueError(
                    "Translator.load needs a folder that `save` wrote. "
                    f"Received: {folder / name}, which cannot be used: "
                    f"{type(error).__name__}: {error}"
                ) from error

        search = read(MAIN_FILE, _read_search)
        model = read("model.keras", keras.saving.load_model)
        source = read("source_tokenizer", AbstractTokenizer.load)
        target = read("target_tokenizer", AbstractTokenizer.load)
        return cls(model, source, target, search)

    def export(
        self,
        path: str | Path,
        format: str = "tf_saved_model",
        max_length: int | None = None,
    ):
        """Write the translator for programs that know nothing of it.

        Args:
            path: Where to write. What an export wrote there before is
                replaced, whole or not at all.
            format: `"tf_saved_model"`.
            max_length: The most tokens of a translation. Defaults to the
                search's own.

        Raises:
            ValueError: If there is no such `format`.
        """
        check_choice("format", format, EXPORTS)
        search = self.search
        if max_length is not None:
            config = {**search.get_config(), "max_length": max_length}
            search = type(search).from_config(config)
        EXPORTS[format](path, *self._parts()[:-1], search)


def _as_bytes(sentences) -> list[bytes]:
    """List sentences as bytes; strings that are no Unicode stay harmless."""
    listed = np.asarray(sentences, object)
    if listed.ndim != 1 or not all(isinstance(s, str | bytes) for s in listed):
        raise ValueError(
            "Translator needs a list of sentences. Received: "
            f"sentences={sentences!r}. Put a single one into a list."
        )
    return [
        s.encode("utf-8", errors="replace") if isinstance(s, str) else s
        for s in listed
    ]


def _read_search(file):
    content = json.loads(file.read_text(encoding="utf-8"))
    search = keras.saving.deserialize_keras_object(content["search"])
    if not isinstance(search, AbstractSearch):
        raise ValueError(f"it holds no search strategy, but {search!r}")
    return search
