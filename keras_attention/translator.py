"""Combine tokenizers, model and search into one translator."""

import io
import json
import os
import shutil
import tempfile
import time
import zipfile
from collections.abc import Iterable
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from typing import Self

import keras

from keras_attention.checks import check_built
from keras_attention.checks import check_choice
from keras_attention.checks import check_count
from keras_attention.checks import check_integer
from keras_attention.extras import require
from keras_attention.files import check_file
from keras_attention.files import reading
from keras_attention.files import recover
from keras_attention.files import replaced_folder
from keras_attention.files import sha256_of
from keras_attention.models import AbstractModel
from keras_attention.models.base import check_functions
from keras_attention.outputs import Shortlist
from keras_attention.search import AbstractSearch
from keras_attention.search import GreedySearch
from keras_attention.text import AbstractTokenizer
from keras_attention.text import ParallelTokenizer
from keras_attention.text import as_texts
from keras_attention.translation import Translation
from keras_attention.translation import TranslationProgram
from keras_attention.translation import check_content
from keras_attention.translation import check_translator
from keras_attention.translation import extended_parts
from keras_attention.translation import feature_rows
from keras_attention.translation import has_terminal
from keras_attention.translation import in_batches
from keras_attention.translation import join_entries
from keras_attention.translation import load_model
from keras_attention.translation import read_phrases
from keras_attention.translation import save_model
from keras_attention.translation import upgrades
from keras_attention.translation import warn_of_cuts
from keras_attention.translation import warn_of_missing
from keras_attention.version import __version__

MAIN_FILE = "translator.json"
MODEL = "model.keras"
SOURCE = "source_tokenizer/tokenizer.json"
TARGET = "target_tokenizer/tokenizer.json"
SHORTLIST = "shortlist.npz"  # only if there is one
SAVED_MODEL = "saved_model.pb"  # in a folder that was exported
PARTS = ("model", "source_tokenizer", "target_tokenizer", "search")
OPTIONS = ("max_source_length", "replace_unknown")  # in the main file


class Translator:
    """Translates text with a trained model.

    Tokenization runs in Python, and generation runs in a compiled graph. On
    TensorFlow, one graph serves all lengths; JAX and XLA compile one graph per
    shape. Therefore, inputs are padded to a few sizes. Sentences run in batches
    of similar length, and the translations are returned in input order. However
    long a sentence is, a batch needs memory for at most `batch_size` times
    `max_source_length` source tokens, in addition to the text itself.

    The constructor arguments are attributes that you can change. Threads can
    share a translator. Pickling and copying use the files that `save` writes.
    Start other processes with `spawn` or `forkserver`, for example with
    `multiprocessing.get_context("spawn")`. If TensorFlow has already run in a
    process, it hangs in a child process that was created by `fork`.

    Args:
        model: A `Seq2Seq` or another `AbstractModel`. You can build and train
            it later, for example when a callback translates during training.
        source_tokenizer: The tokenizer for the source. Use `None` if the model
            reads features, such as images or speech. For an `Ensemble`, you can
            pass a list with one tokenizer per model. Source tokens, attention
            and copied words then refer to the first tokenizer.
        target_tokenizer: The tokenizer for the target.
        search: A search strategy. Defaults to `GreedySearch()`.
        max_source_length: Maximum number of source tokens, including start
            and end tokens; at least 2. Longer sources are truncated with a
            warning. Defaults to `1024`.
        replace_unknown: Whether to replace an unknown token by the source
            word with the highest attention weight. This helps with names,
            which are often the same in both languages. Defaults to `False`.
        shortlist: A `Shortlist` that limits the output to likely translations
            of each source word. This makes decoding with a large vocabulary
            faster. Defaults to `None`, which uses the whole vocabulary.

    Call arguments:
        sentences: Strings as a list, an array, a tensor or a table column, or
            a finite `tf.data.Dataset` of strings or of batches of strings.
            Invalid UTF-8 bytes are replaced by U+FFFD. Without a source
            tokenizer: features `(B, Tv, D)`, images such as `(B, H, W, C)`,
            or a list of `(Tv, D)` arrays with different lengths.
        return_scores: Whether to also return the scores.
        return_attention_scores: Whether to also return tokens and attention
            weights.
        return_token_scores: Whether to also return the target tokens and the
            log probability of each token.
        batch_size: Number of sentences per batch. Defaults to `32`.
        prefixes: The beginning of each translation, one string per sentence,
            or `None`. Unknown words in a prefix are kept unchanged. Defaults
            to `None`.
        required: Phrases that each translation must contain, one list of
            strings per sentence, such as `[["Müller"], [], ["two dogs",
            "snow"]]`, or `None`. Requires a `BeamSearch` with more beams than
            there are tokens in the phrases of a sentence. Each phrase is
            tokenized separately. If no translation within the `max_length` of
            the search contains all phrases, the translation is empty, its score
            is `-inf`, and a warning is issued. Defaults to `None`.
        verbose: `1` for a progress bar, `0` for none. `"auto"` shows a progress
            bar if there is more than one batch and standard output is a
            terminal. Defaults to `"auto"`.
        mask: Boolean mask `(B, Tv)` for features, `True` at valid positions.
            Defaults to `None`, which means that all positions are valid.

    Returns:
        A list of strings, or a list of lists of strings if the search returns
        several hypotheses. If you request scores, attention or tokens, a
        `Translation`. A translation that reaches the `max_length` of the
        search is truncated, and its target tokens do not end with `</s>`.

    Raises:
        ValueError: If an argument is invalid, such as a single string for
            `sentences` or a class instead of an object; if a tokenizer has a
            larger vocabulary than the model; if a model that copies words has
            different source and target vocabularies; or if the model has no
            weights when you translate, save or export.

    Example:

    >>> digits = CharacterTokenizer("0123456789")
    >>> cell = AttentionDecoderCell(LSTMCell(16), BahdanauAttention(8))
    >>> model = Seq2Seq(
    ...     source_vocabulary_size=digits.vocabulary_size,
    ...     target_vocabulary_size=digits.vocabulary_size,
    ...     embedding_dim=8,
    ...     encoder=RecurrentEncoder(8),
    ...     bridge=StateBridge(),
    ...     decoder=AttentionDecoder(cell),
    ... )
    >>> translator = Translator(model, digits, digits, BeamSearch(2))
    >>> ids = digits.tokenize(["12", "345"])
    >>> model.compile("adam", loss=SequenceCrossentropy())
    >>> history = model.fit((ids, ids[:, :-1]), ids[:, 1:], verbose=0)
    >>> result = translator(["12", "345"], return_attention_scores=True)
    >>> len(result.texts)
    2
    >>> result.attention[1].shape == (len(result.target_tokens[1]), 5)
    True
    """

    def __init__(
        self,
        model: AbstractModel,
        source_tokenizer: AbstractTokenizer
        | Sequence[AbstractTokenizer]
        | None,
        target_tokenizer: AbstractTokenizer,
        search: AbstractSearch | None = None,
        max_source_length: int = 1024,
        replace_unknown: bool = False,
        shortlist: Shortlist | None = None,
    ):
        self.model = model
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.search = GreedySearch() if search is None else search
        self.max_source_length = max_source_length
        self.replace_unknown = replace_unknown
        self.shortlist = shortlist
        self._checked_program()

    def _checked_program(self):
        """Return the program of parts and options, which may have changed.

        What is compiled, the model keeps.
        """
        self.max_source_length = check_integer(
            "max_source_length", self.max_source_length, least=2
        )
        if isinstance(self.source_tokenizer, list | tuple):
            self.source_tokenizer = ParallelTokenizer(self.source_tokenizer)
        if self.replace_unknown and self.source_tokenizer is None:
            raise ValueError(
                "`replace_unknown` needs a `source_tokenizer`, because it "
                "copies source words. Received: source_tokenizer=None. Leave "
                "`replace_unknown` out."
            )
        parts = [getattr(self, name) for name in PARTS]
        model = check_translator(*parts)
        if self.shortlist is not None:
            model = model.limited_to(self.shortlist)
        return TranslationProgram(model, *parts[1:], self.replace_unknown)

    def _ready_program(self):
        """Return the program, and check that the model has weights."""
        program = self._checked_program()
        check_built(self.model, "generate", "Train it, load it, or build it.")
        return program

    def __call__(
        self,
        sentences: Iterable[str | bytes],
        return_scores: bool = False,
        return_attention_scores: bool = False,
        batch_size: int = 32,
        prefixes: Iterable[str | bytes] | None = None,
        verbose: int | str = "auto",
        return_token_scores: bool = False,
        required: Iterable[Iterable[str | bytes]] | None = None,
        mask: Any = None,
    ) -> list[str] | list[list[str]] | Translation:
        check_integer("batch_size", batch_size)
        check_choice("verbose", verbose, ("auto", 0, 1))
        sentences = self._sources(sentences, mask)
        if prefixes is not None:
            prefixes = _one_each("prefixes", prefixes, sentences)
        program = self._ready_program()
        asked = return_scores, return_attention_scores, return_token_scores
        phrases = None
        if required is not None:
            phrases = read_phrases(required, len(sentences), self.search)
        run = partial(program.translate, aligned=any(asked[1:]))
        beside = {"prefixes": prefixes, "required": phrases}
        entries = self._run(
            program, run, sentences, beside, batch_size, verbose
        )
        warn_of_missing(entries, phrases, self.search)
        if any(asked):
            return join_entries(entries, *asked)
        return [entry.texts for entry in entries]

    def _run(self, program, run, sentences, beside, batch_size, verbose):
        """Run sentences, with their prefixes, phrases or texts, in batches."""
        longest = self.max_source_length
        rows = sentences  # of features
        if self.source_tokenizer is not None:
            rows = [program.read(text, longest) for text in sentences]
            warn_of_cuts([row.count for row in rows], longest)
        entries = [None] * len(rows)
        limits = batch_size, longest, verbose
        for numbers, batch in in_batches(rows, beside.get("prefixes"), *limits):
            some = {
                name: x if x is None else [x[i] for i in numbers]
                for name, x in beside.items()
            }
            found = run(batch, [rows[i] for i in numbers], **some)
            for i, entry in zip(numbers, found, strict=True):
                entries[i] = entry
        return entries

    def _sources(self, sentences, mask=None):
        """Return the sentences as strings, or the features as rows."""
        if self.source_tokenizer is None:
            spec = self._ready_program().model.source_spec
            return feature_rows(spec, sentences, mask)
        if mask is not None:
            raise ValueError(
                "`mask` is only for translators without a source tokenizer, "
                "which read features. Received: a mask with sentences. Leave "
                "`mask` out."
            )
        return as_texts("sentences", sentences)

    def score(
        self,
        sentences: Iterable[str | bytes],
        translations: Iterable[str | bytes],
        batch_size: int = 32,
        mask: Any = None,
    ) -> Translation:
        """Score existing translations with the model.

        Args:
            sentences: As in a call.
            translations: One translation per sentence.
            batch_size: Number of sentences per batch. Defaults to `32`.
            mask: As in a call. Defaults to `None`.

        Returns:
            A `Translation` with `texts`, `scores`, `target_tokens` and
            `token_scores`. A score is the sum of the log probabilities of the
            tokens. With a shortlist, only tokens in the shortlist have a
            probability.

        Raises:
            ValueError: If an argument is invalid, or if the numbers of
                sentences and translations differ.
        """
        check_integer("batch_size", batch_size)
        sentences = self._sources(sentences, mask)
        texts = _one_each("translations", translations, sentences)
        program = self._ready_program()
        run, beside = program.score, {"texts": texts}
        entries = self._run(program, run, sentences, beside, batch_size, 0)
        return join_entries(entries, True, False, True)

    def with_search(self, search: AbstractSearch) -> Self:
        """Return a translator with another search strategy.

        Args:
            search: A search strategy, such as `BeamSearch(10)`.

        Returns:
            A new translator with the same model, tokenizers and options.

        Raises:
            ValueError: If `search` is not a search strategy, or does not fit
                the other components.
        """
        return self.with_parts(search=search)

    def with_parts(self, **changes: Any) -> Self:
        """Return a translator with some constructor arguments replaced.

        Args:
            **changes: Constructor arguments, by name.

        Returns:
            A new translator. All other arguments are the same as in this one.

        Raises:
            ValueError: If model, tokenizers and search do not fit together.
        """
        names = *PARTS, *OPTIONS, "shortlist"
        arguments = {name: getattr(self, name) for name in names}
        return type(self)(**{**arguments, **changes})

    def extended(
        self,
        texts_or_tokenizers: Sequence[AbstractTokenizer | Iterable[str] | None],
    ) -> Self:
        """Return a translator with larger vocabularies, for fine-tuning.

        Embeddings and the output layer get new rows. Old vocabulary entries
        keep their ids and weights, and each new row is the mean of the old
        rows. Therefore, before training, the logit of a new entry is the mean
        of the logits of the old entries. A new entry is then at most as
        probable as an old entry is on average, and the order of the old entries
        is unchanged. With random rows, a new entry could have any probability.

        The new model is not compiled: call `model.compile` before `model.fit`.
        This translator is unchanged.

        Args:
            texts_or_tokenizers: A pair for source and target. Each item is a
                list of texts with new vocabulary entries, a tokenizer whose
                vocabulary begins with all old entries, or `None` to leave that
                side unchanged.

        Returns:
            The new translator, with a new model.

        Raises:
            ValueError: If a tokenizer cannot be extended, such as a subword
                tokenizer; if the model is not a `Seq2Seq`; or if the translator
                has a shortlist.

        Reference:
            [Hewitt, 2021](
            https://nlp.stanford.edu/~johnhew/vocab-expansion.html).
        """
        if self.shortlist is not None:
            raise ValueError(
                "Translator.extended needs a translator without a `shortlist`, "
                "because a shortlist has no entries for new source words. "
                "Received: a shortlist. Set `shortlist` to None, and create a "
                "new one afterward."
            )
        parts = self.model, self.source_tokenizer, self.target_tokenizer
        return self.with_parts(**extended_parts(*parts, texts_or_tokenizers))

    def __reduce__(self):
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent) / "translator"
            self.save(folder)
            packed = shutil.make_archive(str(folder), "zip", folder)
            return _unpacked, (type(self), Path(packed).read_bytes())

    def save(self, folder: str | Path) -> None:
        """Save model, tokenizers, search and options to a folder.

        The optimizer state is not saved, because it would be half to two thirds
        of the file. To continue training after loading, compile the model
        again, or also save the model with `model.save(...)`.

        Args:
            folder: Path to the folder. A translator that was saved there is
                replaced, either completely or not at all.

        Raises:
            ValueError: If the path exists and is not a saved translator.
        """
        self._ready_program()  # checks what was exchanged
        content = {
            "version": __version__,
            "search": keras.saving.serialize_keras_object(self.search),
            **{name: getattr(self, name) for name in OPTIONS},
        }
        with replaced_folder(folder, MAIN_FILE) as new:
            save_model(self.model, new / MODEL)
            names = [MODEL, TARGET]
            self.target_tokenizer.save((new / TARGET).parent)
            if self.source_tokenizer is not None:
                self.source_tokenizer.save((new / SOURCE).parent)
                names.append(SOURCE)
            if self.shortlist is not None:
                self.shortlist.save(new / SHORTLIST)
                names.append(SHORTLIST)
            content["sha256"] = {name: sha256_of(new / name) for name in names}
            (new / MAIN_FILE).write_text(json.dumps(content, indent=1), "utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Load a saved translator.

        Args:
            folder: Path to the folder that `save` wrote.

        Returns:
            The translator, with its options.

        Raises:
            ValueError: If a file is missing, damaged, or belongs to another
                translator. The message names the file.
        """
        folder, checksums = Path(folder), {}
        recover(folder)
        needed = "Translator.load needs the folder of a saved translator."
        way_out = upgrades(folder / MAIN_FILE, folder / MODEL)

        def read(name, how):
            with reading(folder / name, needed, way_out):
                if os.path.lexists(folder / name):
                    check_file(folder / name, folder)
                check_content(folder / name, checksums.get(name), MAIN_FILE)
                return how(folder / name)

        def load_tokenizer(file):
            return AbstractTokenizer.load(file.parent)

        options, checksums = read(MAIN_FILE, _read_main)
        model = read(MODEL, load_model)
        source = None
        if model.source_vocabulary_size is not None or SOURCE in checksums:
            source = read(SOURCE, load_tokenizer)
        target = read(TARGET, load_tokenizer)
        if SHORTLIST in checksums or (folder / SHORTLIST).exists():
            options["shortlist"] = read(SHORTLIST, Shortlist.load)
        parts = model, source, target
        return read(MAIN_FILE, lambda _: cls(*parts, **options))

    def export(
        self,
        path: str | Path,
        format: str | None = None,
        max_length: int | None = None,
        quantize: str | None = None,
        verbose: int | str = "auto",
        outputs: Sequence[str] = ("translations", "scores"),
    ) -> None:
        """Export the translator, to run it without this package.

        The new export is loaded and run before it replaces an old export.
        `max_source_length` applies to formats that read text, except
        `"litert_text"`. `replace_unknown` applies only to a SavedModel. The
        number of translations per sentence is the `n_best` of the search. For
        a model without a source tokenizer, the inputs are `source` and
        `source_mask`; if the source is an image, there is no `source_mask`.

        During tracing, some settings of the layers change, such as their use of
        cuDNN and their dropout. If another thread traced a function of the
        model at this time, this function would keep these settings. Therefore,
        until the export ends, other threads must not train the model. They may
        translate or generate only with searches that they have used before.
        Concurrent exports wait for each other.

        Args:
            path: A folder for a SavedModel; a `*.tflite` or `*.onnx` file for
                the other formats. An earlier export at this path is replaced,
                either completely or not at all.
            format: Name of the format. `"tf_saved_model"` maps text to text,
                for TensorFlow Serving. `"litert"` (for mobile devices) and
                `"onnx"` (for onnxruntime) map ids to ids; the file also stores
                the tokenizers. `"litert_text"` maps text to text and requires
                `tensorflow_text`. `"onnx_text"` maps text to text with
                onnxruntime; if a tokenizer splits text into words, it also
                requires `onnxruntime-extensions`. `"onnx_align"` is like
                `"onnx_text"`, but with all `outputs` that the model has. You
                can also pass the name of a format that you have registered.
                Defaults to `None`, which selects the format by the extension of
                `path`: `"litert"` for `.tflite`, `"onnx"` for `.onnx`, and
                `"tf_saved_model"` otherwise.
            max_length: Maximum number of tokens in a translation. Defaults to
                the `max_length` of the search.
            quantize: How to store weights: `"int8"`, `"float16"` (LiteRT only),
                or `None` for float32. Defaults to `None`.
            verbose: `1` to print a line when the export begins and when it
                ends, `0` to print nothing; `"auto"` prints if standard output
                is a terminal, because an export can take minutes. Defaults to
                `"auto"`.
            outputs: Outputs of the export: `"translations"`, `"scores"`,
                `"token_scores"` (the log probability of each token) and
                `"attention"`. Formats that map ids to ids return `tokens`
                instead of translations. Formats that map text to text add
                `target_tokens` if you select `"token_scores"` or `"attention"`,
                and `source_tokens` if you select `"attention"`. In a
                SavedModel, `outputs` applies to the signature
                `serving_default`; the signature `align` returns all outputs.
                Defaults to `("translations", "scores")`.

        Raises:
            ValueError: If `format` is unknown; if `path` has the extension of
                another format; if the backend cannot write the format; if the
                format does not support `quantize`; or if the model lacks one of
                the `outputs`.
        """
        check_choice("verbose", verbose, ("auto", 0, 1))
        model = self._ready_program().model  # checks what was exchanged
        check_functions(self.model)
        chosen = _formats().find_format(path, format)
        options = chosen.keywords(self, quantize, outputs)
        search = self.search
        if max_length is not None:
            config = {**search.get_config(), "max_length": max_length}
            search = type(search).from_config(config)
        says = has_terminal() if verbose == "auto" else verbose
        began = time.monotonic()
        if says:
            print(f"Exporting {path} ({chosen.name}) ...", flush=True)
        sides = self.source_tokenizer, self.target_tokenizer
        chosen.write(path, model, *sides, search, **options)
        if says:
            print(f"Exported {path} in {time.monotonic() - began:.0f} s")


def _formats():
    """Import the formats, and TensorFlow if it is installed."""
    return require("keras_attention.export", "tensorflow", "Translator.export")


def _one_each(name, texts, sentences):
    texts, needed = as_texts(name, texts), "one string per sentence, or ''"
    check_count(needed, name, texts, "sentences", sentences)
    return texts


def _read_main(file):
    """Read the options of a translator and the checksums of its files."""
    exported = [] if file.exists() else _exported(file.parent)
    if exported:
        raise ValueError(
            f"it contains an export: {', '.join(exported)}. Exports run "
            "without this package; load the folder that `save` wrote"
        )
    content = json.loads(file.read_text(encoding="utf-8"))
    search = keras.saving.deserialize_keras_object(content["search"])
    if not isinstance(search, AbstractSearch):
        raise ValueError(f"its search is not a search strategy: {search!r}")
    options = {name: content[name] for name in OPTIONS}
    checksums = content.get("sha256", {})  # old folders have none
    if not isinstance(checksums, dict):
        raise ValueError(f"its checksums are not an object: {checksums!r}")
    return {"search": search, **options}, checksums


def _exported(path):
    """List the exports at a path or in the folder of that path."""
    parts = [path, *sorted(path.glob("*"))]
    endings = {x.suffix for x in _formats().FORMATS.values() if x.suffix}
    return [
        str(part)
        for part in parts
        if part.suffix in endings or (part / SAVED_MODEL).exists()
    ]


def _unpacked(kind, content):
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(io.BytesIO(content)).extractall(folder)
        return kind.load(folder)
