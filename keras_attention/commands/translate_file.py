"""The command `translate FILE` for an exported file, without TensorFlow.

Nothing that is imported here imports Keras, so that a single word takes less
than a second. Files of ids import Keras later if a tokenizer has custom steps,
is a `ParallelTokenizer`, or was saved by an earlier version.
"""

import argparse
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from keras_attention.commands.arguments import WrongArguments
from keras_attention.commands.lines import Entry
from keras_attention.commands.lines import run_lines
from keras_attention.commands.main import quiet_start
from keras_attention.extras import require
from keras_attention.files import check_seal
from keras_attention.steps.reader import AbstractReader
from keras_attention.steps.reader import read_json

EXTENSIONS = b"ai.onnx.contrib"  # names operations that onnxruntime lacks
SIGNATURE = "translate_ids"  # of a LiteRT file
SIDES = ("source_tokenizer", "target_tokenizer")
FIXED = ("beam_size", "length_penalty", "max_length")  # in a file
NEEDED = {  # outputs, by options
    "scores": (),
    "token_scores": ("token_scores", "target_tokens"),
    "alignments": ("attention", "source_tokens", "target_tokens"),
}


def run(arguments: argparse.Namespace):
    """Translate lines with an exported file, and write them in input order."""
    path = arguments.folder
    given = {name: getattr(arguments, name) for name in FIXED}
    for name, value in given.items():
        if value is not None:
            raise WrongArguments(
                f"`--{_option(name)}` is fixed in an exported file. Received: "
                f"{path}, {_option(name)}={value}. Use the saved translator, "
                "or export it again."
            )
    check_seal(path)
    translate = FileTranslator(RUNTIMES[path.suffix.lower()](path), path)
    with quiet_start():
        (tried,) = translate([b"0"])
    for name, outputs in NEEDED.items():
        lacks = [x for x in outputs if getattr(tried, x) is None]
        if getattr(arguments, name) and lacks:
            raise WrongArguments(
                f"`--{_option(name)}` needs a file with the output {lacks[0]}. "
                f"Received: {path}, {_option(name)}=True. Export it again "
                "with --outputs translations,scores,token_scores,attention."
            )
    several = arguments.n_best or len(tried.texts)
    if several > len(tried.texts):
        raise WrongArguments(
            f"`--n-best` must be at most {len(tried.texts)} for this file. "
            f"Received: {path}, n-best={several}. Export it again with "
            "--n-best."
        )
    if arguments.unknown == "error" and translate.known is None:
        raise WrongArguments(
            "`--unknown error` needs a file whose source tokenizer can be "
            f"used without its class. Received: {path}, unknown='error'. "
            "Export the translator again, or use --unknown ignore."
        )

    def translate_all(lines: list[bytes], _) -> Iterator[Entry]:
        order = sorted(range(len(lines)), key=lambda i: len(lines[i]))
        entries = [None] * len(lines)
        for begin in range(0, len(order), arguments.batch_size):
            numbers = order[begin : begin + arguments.batch_size]
            found = translate([lines[i] for i in numbers])
            for i, entry in zip(numbers, found, strict=True):
                entries[i] = entry if several > 1 else _best(entry)
        yield from entries

    run_lines(arguments, translate.known, translate_all, several)


def _option(name):
    return name.replace("_", "-")


def _best(entry):
    """Return the best text of an entry, which has lists of them."""
    lists = {
        name: x[0]
        for name, x in entry._asdict().items()
        if x is not None and name != "source_tokens"
    }
    return entry._replace(**lists)


class FileTranslator:
    """Translates batches of lines with an exported file, of text or of ids.

    Args:
        file: An `OnnxFile` or a `LitertFile`.
        path: Its path, for error messages.

    Attributes:
        known: An object with a method `unknown`, such as a tokenizer; or
            `None`.

    Raises:
        ValueError: If the file does not translate text.
    """

    def __init__(self, file: "OnnxFile | LitertFile", path: Path):
        self._run, self._tokenizers = file.run, ()
        if file.inputs == ["text"]:
            self.known = read_json(file.metadata[SIDES[0]])
            return
        if file.inputs != ["source_ids"]:
            raise ValueError(
                "`translate` needs the export of a translator of text. "
                f"Received: {path}, with the inputs {file.inputs}. Run it with "
                "its runtime."
            )
        self._tokenizers = [_tokenizer(file.metadata[x]) for x in SIDES]
        self.known = self._tokenizers[0]

    def __call__(self, lines: list[bytes]) -> list[Entry]:
        """Translate lines, and return an entry with hypotheses for each."""
        texts = [line.decode("utf-8", errors="replace") for line in lines]
        if self._tokenizers:
            found = self._of_ids(texts)
        else:
            found = self._run({"text": np.array(texts, object)})
        rows = ({k: x[i] for k, x in found.items()} for i in range(len(lines)))
        return [_entry(row) for row in rows]

    def _of_ids(self, texts):
        source, target = self._tokenizers
        ids = np.asarray(source.tokenize(texts))
        found = self._run({"source_ids": ids})
        tokens = found.pop("tokens")  # (B, N, T)
        written = target.detokenize(tokens.reshape(-1, tokens.shape[-1]))
        found["translations"] = np.reshape(written, tokens.shape[:2])
        found["target_tokens"] = np.asarray(target.tokens(tokens))
        first = ids if ids.ndim == 2 else ids[..., 0]
        found["source_tokens"] = np.asarray(source.parts[0].tokens(first))
        return found


def _tokenizer(content) -> AbstractReader:
    """Read a tokenizer from its steps, or otherwise with its class."""
    reader = read_json(content)
    if reader is not None:
        return reader
    with quiet_start():
        needed_by = "`translate` with this file"
        text = require("keras_attention.text", "tensorflow", needed_by)
    return text.AbstractTokenizer.from_json(content)


def _entry(row):
    """Convert the arrays of a line to text and numbers, without padding."""
    found = {"texts": [*map(_text, row["translations"])]}
    found["scores"] = row["scores"].tolist()
    columns = None
    if "source_tokens" in row:
        found["source_tokens"] = [
            *map(_text, filter(None, row["source_tokens"]))
        ]
        columns = len(found["source_tokens"])
    if "target_tokens" in row:
        tokens = [[*map(_text, filter(None, x))] for x in row["target_tokens"]]
        found["target_tokens"] = tokens
        for name in {"token_scores", "attention"} & row.keys():
            pairs = zip(row[name], tokens, strict=True)
            found[name] = [x[: len(own)] for x, own in pairs]
    if "attention" in found:
        found["attention"] = [x[:, :columns] for x in found["attention"]]
    return Entry(**found)


def _text(string):
    return string.decode() if isinstance(string, bytes) else string


class OnnxFile:
    """An ONNX file in onnxruntime.

    Args:
        path: The file.

    Attributes:
        inputs: The names of its inputs.
        metadata: Strings by name, such as tokenizers.
    """

    def __init__(self, path: Path):
        runtime = require("onnxruntime", "onnx", "`translate`")
        options = runtime.SessionOptions()
        if EXTENSIONS in path.read_bytes():
            more = require("onnxruntime_extensions", "onnx_text", "`translate`")
            options.register_custom_ops_library(more.get_library_path())
        self._session = runtime.InferenceSession(path, options)
        self._outputs = [x.name for x in self._session.get_outputs()]
        self.inputs = [x.name for x in self._session.get_inputs()]
        self.metadata = self._session.get_modelmeta().custom_metadata_map

    def run(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the outputs by name."""
        found = self._session.run(self._outputs, inputs)
        return dict(zip(self._outputs, found, strict=True))


class LitertFile:
    """A LiteRT file.

    Args:
        path: The file.

    Attributes:
        inputs: As in `OnnxFile`; empty if the inputs are not ids.
        metadata: As in `OnnxFile`.
    """

    def __init__(self, path: Path):
        runtime = require("ai_edge_litert.interpreter", "litert", "`translate`")
        interpreter = runtime.Interpreter(str(path))
        signatures = interpreter.get_signature_list()
        self.inputs, self.metadata = [], {}
        if SIGNATURE not in signatures:
            return  # it is of text, or of no translator
        self.inputs = signatures[SIGNATURE]["inputs"]
        self._run = interpreter.get_signature_runner(SIGNATURE)
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                text = archive.read(member).decode()
                self.metadata[member.removesuffix(".json")] = text

    def run(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the outputs by name."""
        return self._run(**inputs)


RUNTIMES = {".onnx": OnnxFile, ".tflite": LitertFile}
