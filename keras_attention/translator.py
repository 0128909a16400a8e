"""Text, model and search as one thing: call it, save it, export it."""

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
    """Translates text by a trained model.

    Python reads and writes text, and the model generates in a graph: on
    TensorFlow for all lengths; on JAX and by XLA, which compile for each
    shape, at a few sizes. Sentences run in batches of similar length, and
    their translations keep the order. However long a sentence is, a batch
    takes no more memory than `batch_size` times `max_source_length`, beside
    that of the text itself.

    Its parts and options are its attributes, and may be exchanged or changed.
    Threads may share a translator. It is pickled and copied by what `save`
    writes, for other processes. Start them by `spawn` or `forkserver`, as by
    `multiprocessing.get_context("spawn")`: after a `fork` TensorFlow hangs in
    the child if it has run in the parent.

    Args:
        model: A `Seq2Seq`, or a model like it. It may be built and trained
            later, as for a callback that translates while it trains.
        source_tokenizer: The tokenizer of its source; `None` if the model
            reads features, as of images or speech; or a list of them, one
            for each model of an `Ensemble`, each of which reads the source in
            its own pieces. Source tokens, attention and words that are copied
            then are those of the first.
        target_tokenizer: The tokenizer of its target.
        search: A search strategy. Defaults to `GreedySearch()`.
        max_source_length: The most ids of a source, start and end included,
            at least 2. A longer one is cut, with a warning. Defaults to
            `1024`.
        replace_unknown: Whether an unknown word is written as the word of
            the source that has most attention, as names are the same in many
            languages. Defaults to `False`.
        shortlist: A `Shortlist`: the few words that can translate each word
            of a source, which makes a search in a large vocabulary faster.
            Defaults to `None`, all words.

    Call arguments:
        sentences: A list, an array, a tensor or a table's column of strings,
            or a finite `tf.data.Dataset` of strings or of batches of them.
            Bytes that are not UTF-8 are read as U+FFFD. Without a source
            tokenizer, features: `(B, Tv, D)`, images such as `(B, H, W, C)`,
            or a list of `(Tv, D)` of several lengths.
        return_scores: Whether to return the scores as well.
        return_attention_scores: Whether to return tokens and attention.
        return_token_scores: Whether to return the target tokens, and the log
            probability of each.
        batch_size: How many sentences run at a time. Defaults to `32`.
        prefixes: The beginning of each translation, one string a sentence,
            or `None`. Its unknown words are written as they are. Defaults to
            `None`.
        required: Phrases that each translation contains, a list of strings a
            sentence, as in `[["Müller"], [], ["two dogs", "snow"]]`, or
            `None`. It needs a `BeamSearch`, with more beams than there are
            tokens in the phrases of a sentence. A phrase is what the
            tokenizer makes of it alone. Where no translation within the
            search's `max_length` contains them all, it is empty, with the
            score `-inf`, and a warning says so. Defaults to `None`.
        verbose: `1` for a progress bar, `0` for none; `"auto"` shows it if
            there is more than one batch and standard output is a terminal.
            Defaults to `"auto"`.
        mask: Boolean `(B, Tv)` of features, `True` at real positions.
            Defaults to `None`: all positions are.

    Returns:
        A list of strings, or a list of lists of them if the search gives
        several; a `Translation`, if more is asked for. A text that reaches
        the search's `max_length` ends there, and its target tokens lack the
        `</s>`.

    Raises:
        ValueError: If an argument has a wrong value: a single string as
            `sentences`, a class where an object is needed; if a vocabulary is
            larger than the model's or, where words are copied, not the same
            on both sides; or if a model without weights shall translate, be
            saved or exported.

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
    >>> found = translator(["12", "345"], return_attention_scores=True)
    >>> len(found.texts)
    2
    >>> found.attention[1].shape == (len(found.target_tokens[1]), 5)
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
                "`replace_unknown` needs a `source_tokenizer`, whose words it "
                "copies. Received: source_tokenizer=None. Leave it out."
            )
        parts = [getattr(self, name) for name in PARTS]
        model = check_translator(*parts)
        if self.shortlist is not None:
            model = model.limited_to(self.shortlist)
        return TranslationProgram(model, *parts[1:], self.replace_unknown)

    def _ready_program(self):
        """Return the program of a model that has its weights."""
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
        """Run sentences, with what is given beside them, in batches."""
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
        """List the sentences as strings, or the features as rows."""
        if self.source_tokenizer is None:
            spec = self._ready_program().model.source_spec
            return feature_rows(spec, sentences, mask)
        if mask is not None:
            raise ValueError(
                "`mask` is for a translator of features, without a source "
                "tokenizer. Received: a mask beside sentences. Leave it out."
            )
        return as_texts("sentences", sentences)

    def score(
        self,
        sentences: Iterable[str | bytes],
        translations: Iterable[str | bytes],
        batch_size: int = 32,
        mask: Any = None,
    ) -> Translation:
        """Score given translations by the model, such as those of others.

        Args:
            sentences: As in a call.
            translations: A text for each sentence.
            batch_size: How many run at a time. Defaults to `32`.
            mask: As in a call. Defaults to `None`.

        Returns:
            A `Translation` of `texts`, `scores`, `target_tokens` and
            `token_scores`. A score is the sum of those of its tokens, the
            model's log probabilities; with a shortlist, among its words.

        Raises:
            ValueError: If an argument has a wrong value, or there are more or
                fewer translations than sentences.
        """
        check_integer("batch_size", batch_size)
        sentences = self._sources(sentences, mask)
        texts = _one_each("translations", translations, sentences)
        program = self._ready_program()
        run, beside = program.score, {"texts": texts}
        entries = self._run(program, run, sentences, beside, batch_size, 0)
        return join_entries(entries, True, False, True)

    def with_search(self, search: AbstractSearch) -> Self:
        """Return a translator that searches in another way.

        Args:
            search: A search strategy, such as `BeamSearch(10)`.

        Returns:
            A new translator with the same model, tokenizers and options.

        Raises:
            ValueError: If it is no search, or does not fit the others.
        """
        return self.with_parts(search=search)

    def with_parts(self, **changes: Any) -> Self:
        """Return a translator with some parts or options exchanged.

        Args:
            **changes: Arguments of the constructor, by name.

        Returns:
            A new translator; what is not named is that of this one.

        Raises:
            ValueError: If the parts do not fit each other.
        """
        names = *PARTS, *OPTIONS, "shortlist"
        arguments = {name: getattr(self, name) for name in names}
        return type(self)(**{**arguments, **changes})

    def extended(
        self,
        texts_or_tokenizers: Sequence[AbstractTokenizer | Iterable[str] | None],
    ) -> Self:
        """Return a translator with larger vocabularies, for fine-tuning.

        Embeddings and the output grow; old entries keep ids and weights. New
        rows are the mean of the old ones. So a new entry has the mean of all
        logits at first, which takes at most its share of the vocabulary from
        the probability of the old entries, and leaves their order unchanged.
        Random rows could get any probability.

        The new model is not compiled: call `model.compile` before `model.fit`.
        This translator stays unchanged.

        Args:
            texts_or_tokenizers: A pair for source and target. Each of them is
                a list of texts with new entries, a tokenizer that has all old
                entries first, or `None` if the side stays unchanged. If the
                model copies words, both sides get the entries of both.

        Returns:
            The new translator, with a new model.

        Raises:
            ValueError: If a tokenizer cannot be extended, as that of pieces;
                if the model is no `Seq2Seq`; or if there is a shortlist.

        Reference:
            [Hewitt, 2021](
            https://nlp.stanford.edu/~johnhew/vocab-expansion.html).
        """
        if self.shortlist is not None:
            raise ValueError(
                "Translator.extended needs a translator without a shortlist, "
                "which has no words for new sources. Received: a shortlist. "
                "Set `shortlist` to None, and make a new one afterward."
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
        """Write model, tokenizers, search and all else into one folder.

        The model is written without its optimizer, which is half or two
        thirds of it: compile it again before you train it again, or keep
        `model.save(...)` of your own.

        Args:
            folder: The folder. What `save` wrote there before is replaced,
                whole or not at all.

        Raises:
            ValueError: If something else stands there.
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
        """Read what `save` wrote.

        Args:
            folder: The folder that `save` wrote.

        Returns:
            The translator, with its options.

        Raises:
            ValueError: If a file is missing, damaged, or of another
                translator. The message names it.
        """
        folder, checksums = Path(folder), {}
        recover(folder)
        needed = "Translator.load needs a folder that `save` wrote."
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
        """Write the translator for programs that run without this package.

        What is written is read back and run before it replaces what is there.
        Only what takes text has `max_source_length`, but for `"litert_text"`,
        and only a SavedModel has `replace_unknown`. As many translations are
        written as the search gives, its `n_best`. Without a source tokenizer
        the inputs are `source` and, unless it is an image, `source_mask`.

        Layers of the model are changed while it is traced, such as their use
        of cuDNN and their dropout. Meanwhile no other thread may train it, nor
        translate or generate for the first time, or by another kind of search:
        what is traced then keeps these changes. Other exports wait.

        Args:
            path: A folder for a SavedModel, a `*.tflite` or `*.onnx` file
                for the others. What an export wrote there before is replaced,
                whole or not at all.
            format: `"tf_saved_model"` for TensorFlow Serving, text to text;
                `"litert"` for phones or `"onnx"` for onnxruntime, both from
                ids to ids, with tokenizers in the file; `"litert_text"`, text
                to text with `tensorflow_text`; `"onnx_text"`, text to text
                with onnxruntime alone, or with `onnxruntime-extensions` if a
                tokenizer is of words; `"onnx_align"`, the same with all
                `outputs` that the model has; or one that was registered.
                Defaults to `None`, by the ending of `path`: `"litert"` of
                `.tflite`, `"onnx"` of `.onnx`, `"tf_saved_model"` of others.
            max_length: The most tokens of a translation. Defaults to the
                search's own.
            quantize: How weights are stored: `"int8"`, in LiteRT also
                `"float16"`, or `None` for float32. Defaults to `None`.
            verbose: `1` to print a line at the begin and one at the end, `0`
                for none; `"auto"` prints them if standard output is a
                terminal, as it can take minutes. Defaults to `"auto"`.
            outputs: What the file gives: `"translations"` and `"scores"`, and
                on request `"token_scores"`, the log probability of each token,
                and `"attention"`. Formats of ids give `tokens` in place of
                translations. Formats of text give `target_tokens` with both
                of these, and `source_tokens` with the attention. Of a
                SavedModel it is for `serving_default`: its `align` gives all.
                Defaults to `("translations", "scores")`.

        Raises:
            ValueError: If there is no such `format`, if `path` has the ending
                of another, if this backend cannot write it, if it has no
                `quantize`, or if the model lacks one of the `outputs`.
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
            print(f"Writes and runs {path} ({chosen.name}) ...", flush=True)
        sides = self.source_tokenizer, self.target_tokenizer
        chosen.write(path, model, *sides, search, **options)
        if says:
            print(f"Wrote {path} in {time.monotonic() - began:.0f} s")


def _formats():
    """Import what exports, and with it TensorFlow where it is installed."""
    return require("keras_attention.export", "tensorflow", "Translator.export")


def _one_each(name, texts, sentences):
    texts, needed = as_texts(name, texts), "one string a sentence, perhaps ''"
    check_count(needed, name, texts, "sentences", sentences)
    return texts


def _read_main(file):
    """Read the options of a translator, and the checksums of other files."""
    exported = [] if file.exists() else _exported(file.parent)
    if exported:
        raise ValueError(
            f"an export stands there: {', '.join(exported)}. It runs without "
            "this package; what `save` wrote is another folder"
        )
    content = json.loads(file.read_text(encoding="utf-8"))
    search = keras.saving.deserialize_keras_object(content["search"])
    if not isinstance(search, AbstractSearch):
        raise ValueError(f"it holds no search strategy, but {search!r}")
    options = {name: content[name] for name in OPTIONS}
    checksums = content.get("sha256", {})  # old folders have none
    if not isinstance(checksums, dict):
        raise ValueError(f"its checksums are no object, but {checksums!r}")
    return {"search": search, **options}, checksums


def _exported(path):
    """Name what `export` wrote at a path, or in a folder of that path."""
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
