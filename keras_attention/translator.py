"""Text, model and search as one thing: call it, save it, export it."""

import json
import warnings
from pathlib import Path

import keras
import numpy as np

from keras_attention.checks import check_built
from keras_attention.checks import check_choice
from keras_attention.checks import check_integer
from keras_attention.export import TranslationGraph
from keras_attention.export import export_litert
from keras_attention.export import export_litert_text
from keras_attention.export import export_onnx
from keras_attention.export import export_saved_model
from keras_attention.export import join_entries
from keras_attention.export import read_answer
from keras_attention.files import replaced_folder
from keras_attention.search import AbstractSearch
from keras_attention.search import GreedySearch
from keras_attention.text import AbstractTokenizer
from keras_attention.text import as_bytes
from keras_attention.text import check_shared
from keras_attention.version import __version__

MAIN_FILE = "translator.json"
EXPORTS = {
    "tf_saved_model": export_saved_model,
    "litert": export_litert,
    "litert_text": export_litert_text,
    "onnx": export_onnx,
}
QUANTIZED = ("litert", "litert_text")
COUNTED_AT_ONCE = 1024


class Translator:
    """Translates text by a trained model.

    Everything runs in one traced graph that serves all lengths; on JAX and
    under XLA, which compile for each shape, at a few sizes. Sentences go
    through in batches of similar length, and come back in their own order.

    Args:
        model: A trained `Seq2Seq`.
        source_tokenizer: The tokenizer of its source.
        target_tokenizer: The tokenizer of its target.
        search: A search strategy. Defaults to `GreedySearch()`.
        max_source_length: The most ids of a source, start and end included.
            A longer one is cut, with a warning. Defaults to `1024`.
        replace_unknown: Whether an unknown word is written as the word of
            the source that has most attention, as names are the same in many
            languages. Defaults to `False`.

    Call arguments:
        sentences: A list, an array or a tensor of strings, or a finite
            `tf.data.Dataset` of strings or of batches of them. Bytes that
            are not UTF-8 are read as U+FFFD.
        return_scores: Whether to return the scores as well.
        return_attention_scores: Whether to return tokens and attention.
        batch_size: How many sentences go through at a time. Defaults to `32`.
        prefixes: What each translation is to begin with, one string a
            sentence, or `None`. Defaults to `None`.
        verbose: `1` for a progress bar, `0` for none; `"auto"` shows it if
            there is more than one batch. Defaults to `"auto"`.

    Returns:
        A list of strings, or a list of lists of them if the search gives
        several; a `Translation`, if more is asked for. A text that reached
        the search's `max_length` is what there was of it by then, and its
        target tokens lack the `</s>`.

    Raises:
        ValueError: If `sentences` is a single string or holds no strings, if
            the model is no `Seq2Seq` or has no weights yet, or if a
            vocabulary is larger than the model's or, where words are copied,
            not the same on both sides.
    """

    def __init__(
        self,
        model,
        source_tokenizer,
        target_tokenizer,
        search=None,
        max_source_length: int = 1024,
        replace_unknown: bool = False,
    ):
        if not hasattr(model, "generate"):
            raise ValueError(
                "Translator needs a model that generates, such as Seq2Seq. "
                f"Received: model={model}"
            )
        check_built(model, "generate", "Train it, load it, or call it once.")
        for side, tokenizer in (
            ("source", source_tokenizer),
            ("target", target_tokenizer),
        ):
            size = getattr(model, f"{side}_vocabulary_size")
            known = tokenizer.vocabulary_size
            if size is None or known > size or (model.copying and known < size):
                raise ValueError(
                    f"`{side}_tokenizer` must give ids that the model knows, "
                    "and all of them if it copies. Received: vocabulary_size="
                    f"{known}, the model's {side}_vocabulary_size={size}."
                )
        if model.copying:
            check_shared("Translator", source_tokenizer, target_tokenizer)
        check_integer("max_source_length", max_source_length)
        self.model = model
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.search = GreedySearch() if search is None else search
        self.max_source_length = max_source_length
        self.replace_unknown = replace_unknown
        self._graph = TranslationGraph(*self._parts(), **self._options())

    def _parts(self):
        return (
            self.model,
            self.source_tokenizer,
            self.target_tokenizer,
            self.search,
        )

    def _options(self):
        return {
            "max_source_length": self.max_source_length,
            "replace_unknown": self.replace_unknown,
        }

    def __call__(
        self,
        sentences,
        return_scores: bool = False,
        return_attention_scores: bool = False,
        batch_size: int = 32,
        prefixes=None,
        verbose: int | str = "auto",
    ):
        check_integer("batch_size", batch_size)
        check_choice("verbose", verbose, ("auto", 0, 1))
        columns = [as_bytes("sentences", sentences)]
        run = self._graph.translate
        if return_attention_scores:
            run = self._graph.align
        if prefixes is not None:
            columns.append(as_bytes("prefixes", prefixes))
            run = self._graph.complete
            if len(columns[1]) != len(columns[0]):
                raise ValueError(
                    "`prefixes` needs one string a sentence, empty where there "
                    f"is no prefix. Received: {len(columns[1])} prefixes for "
                    f"{len(columns[0])} sentences."
                )
        batches = self._batches(columns[0], batch_size)
        if verbose == "auto":
            verbose = int(len(batches) > 1)
        bar = keras.utils.Progbar(
            len(columns[0]), verbose=verbose, unit_name="sentence"
        )
        found = [None] * len(columns[0])
        for rows in batches:
            batch = [[column[i] for i in rows] for column in columns]
            answer = run(*(np.array(part, object) for part in batch))
            answer = {name: x.numpy() for name, x in answer.items()}
            for k, i in enumerate(rows):
                one = {name: x[k] for name, x in answer.items()}
                found[i] = read_answer(one)
            bar.add(len(rows))
        if return_scores or return_attention_scores:
            return join_entries(found, return_scores, return_attention_scores)
        return [entry.texts for entry in found]

    def _batches(self, sentences, batch_size):
        """Sort sentences by their length, and warn of those to be cut."""
        counts = []
        for start in range(0, len(sentences), COUNTED_AT_ONCE):
            part = sentences[start : start + COUNTED_AT_ONCE]
            counts += self._graph.count(np.array(part, object)).numpy().tolist()
        order = sorted(range(len(counts)), key=counts.__getitem__)
        cut = [i for i, n in enumerate(counts) if n > self.max_source_length]
        if cut:
            warnings.warn(
                f"Translator cuts {len(cut)} of {len(counts)} sentences to "
                f"max_source_length={self.max_source_length} ids. The first "
                f"is sentences[{cut[0]}], with {counts[cut[0]]}. Split it, or "
                "raise max_source_length.",
                stacklevel=3,
            )
        return [
            order[start : start + batch_size]
            for start in range(0, len(order), batch_size)
        ]

    def save(self, folder: str | Path):
        """Write model, tokenizers and search into one folder.

        Args:
            folder: What `save` wrote there before is replaced, whole or not
                at all.
        """
        content = {
            "version": __version__,
            "search": keras.saving.serialize_keras_object(self.search),
            **self._options(),
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

        Args:
            folder: The folder.

        Returns:
            The translator.

        Raises:
            ValueError: If a file is missing or damaged; it says which.
        """
        folder = Path(folder)

        def read(name, how):
            try:
                return how(folder / name)
            except Exception as error:  # damage has any
                raise ValueError(
                    "Translator.load needs a folder that `save` wrote. "
                    f"Received: {folder / name}, which cannot be used: "
                    f"{type(error).__name__}: {error}"
                ) from error

        options = read(MAIN_FILE, _read_options)
        model = read("model.keras", keras.saving.load_model)
        source = read("source_tokenizer", AbstractTokenizer.load)
        target = read("target_tokenizer", AbstractTokenizer.load)
        return cls(model, source, target, **options)

    def export(
        self,
        path: str | Path,
        format: str = "tf_saved_model",
        max_length: int | None = None,
        quantize: str | None = None,
    ):
        """Write the translator for programs that know nothing of it.

        What is written is read back and run before it takes its place. Only a
        SavedModel knows `max_source_length` and `replace_unknown`.

        Args:
            path: Where to write: a folder for a SavedModel, a `*.tflite` or
                `*.onnx` file for the others. What an export wrote there
                before is replaced, whole or not at all.
            format: `"tf_saved_model"` for TensorFlow Serving, text to text;
                `"litert"` for phones or `"onnx"` for onnxruntime, both from
                ids to ids, with the tokenizers inside the file;
                `"litert_text"`, text to text by operations of
                `tensorflow_text`. Defaults to `"tf_saved_model"`.
            max_length: The most tokens of a translation. Defaults to the
                search's own.
            quantize: How LiteRT stores weights: `"float16"`, `"int8"`, or
                `None` for float32. Defaults to `None`.

        Raises:
            ValueError: If there is no such `format`, if it cannot be written
                on this backend, or if it has no `quantize`.
        """
        check_choice("format", format, EXPORTS)
        search = self.search
        if max_length is not None:
            config = {**search.get_config(), "max_length": max_length}
            search = type(search).from_config(config)
        options = self._options() if format == "tf_saved_model" else {}
        if quantize is not None:
            check_choice("format", format, QUANTIZED)
            options["quantize"] = quantize
        EXPORTS[format](path, *self._parts()[:-1], search, **options)


def _read_options(file):
    content = json.loads(file.read_text(encoding="utf-8"))
    search = keras.saving.deserialize_keras_object(content["search"])
    if not isinstance(search, AbstractSearch):
        raise ValueError(f"it holds no search strategy, but {search!r}")
    names = ("max_source_length", "replace_unknown")
    return {"search": search, **{name: content[name] for name in names}}
