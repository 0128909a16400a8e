"""Reads damaged files, and says for each what came of it. A program.

    python reader.py FOLDER FORMAT:FIRST:LAST...

It makes whole files in the folder, if it is empty, and reads copies with the
damages from FIRST to below LAST, all under `python -W error`. It prints a line
of JSON before each file, and one after it: a process that dies, dies of the
last one. It may take 2 GB more than it has when it has read whole files. In the
end it reads a whole file where the process may open no more.
"""

import contextlib
import errno
import json
import random
import resource
import shutil
import sys
import warnings
from pathlib import Path

import keras
import litert_translate
import numpy as np
import onnx
import onnxruntime
import seq2seqs
from damages import damage
from memory import most_kilobytes

import keras_attention as ka
from keras_attention.files import SEAL
from keras_attention.files import check_seal
from keras_attention.files import seal
from keras_attention.resume.file import read_state
from keras_attention.resume.file import write_state

MOST = 2 * 10**9  # bytes
TEXTS = ["12 May 2021", "zwei Hunde spielen im Schnee", "xyz", "ABC"]
DATES = Path(__file__).parents[2] / "saved_models/dates/translator.tflite"
FORMATS = {}


def read_by(name, *files, checksums=True):
    """Register the function that reads a format, and the names of its files."""

    def register(reader):
        FORMATS[name] = reader, files, checksums
        return reader

    return register


FOLDER = (
    "model.keras",
    "translator.json",
    "source_tokenizer/tokenizer.json",
    "target_tokenizer/tokenizer.json",
    "shortlist.npz",
)


@read_by("translator", *FOLDER)
@read_by("translator without checksums", *FOLDER, checksums=False)
def read_translator(folder, _):
    found = ka.Translator.load(folder)
    return [
        fingerprint(found.model),
        found.source_tokenizer.to_json(),
        found.target_tokenizer.to_json(),
        found.search.get_config(),
        found.max_source_length,
        found.replace_unknown,
        words_of(found.shortlist),
    ]


TOKENIZERS = tuple(f"{kind}/tokenizer.json" for kind in "cswp")


@read_by("tokenizers", *TOKENIZERS, checksums=False)
def read_tokenizer(folder, name):
    found = ka.AbstractTokenizer.load((folder / name).parent)
    ids = found.tokenize(TEXTS)
    texts = found.detokenize(ids).tolist()
    return [found.to_json(), ids.tolist(), str(texts)]


@read_by("shortlist", "x.npz")
def read_shortlist(folder, name):
    return words_of(ka.Shortlist.load(folder / name))


@read_by("litert", "x.tflite")
def read_litert(folder, name):
    return litert_translate.load(folder / name)(TEXTS[:1])


@read_by("onnx", "x.onnx")
def read_onnx(folder, name):
    check_seal(folder / name)
    session = onnxruntime.InferenceSession(folder / name)
    return session.get_modelmeta().custom_metadata_map


@read_by("training", "training.state")
def read_training(folder, name):
    return repr(read_state(folder / name))


def words_of(shortlist):
    return [shortlist.table.tolist(), shortlist.always.tolist()]


def fingerprint(model):
    return [x.tobytes() for x in model.get_weights()]


# Whole files, and others of their kinds.


def make_model(seed, units=4):
    keras.utils.set_random_seed(seed)
    encoder = ka.RecurrentEncoder(units, cell="gru")
    sizes = {"words": 300, "embedding_dim": units, "encoder": encoder}
    return seq2seqs.built_model(2 * units, units, **sizes)


def make(folder, seed, texts):
    """Write one file or folder of each format."""
    model = make_model(seed)
    kinds = {
        "c": ka.CharacterTokenizer.train(texts, 40),
        "s": ka.SentencePieceTokenizer.train(
            texts * 3, 30, byte_fallback=False
        ),
        "w": ka.WordTokenizer.train(texts, 20),
        "p": ka.WordPieceTokenizer.train(texts, 40),
    }
    for name, tokenizer in kinds.items():
        tokenizer.save(folder / name)
    search = ka.BeamSearch(2, max_length=9 + seed)
    words = np.random.default_rng(seed).integers(4, 300, (300, 3))
    shortlist = ka.Shortlist(words, words[:5, 0])
    shortlist.save(folder / "x.npz")
    parts = model, kinds["c"], kinds["w"], search
    ka.Translator(*parts, shortlist=shortlist).save(folder / "all")
    state = {"texts": texts, "weights": model.get_weights()}
    write_state(folder / "training.state", state)
    shutil.copy(DATES, folder / "x.tflite")
    make_onnx(folder / "x.onnx", seed)


def make_onnx(path, seed):
    """Write a file that ends as those of the export."""
    value = onnx.helper.make_tensor_value_info
    kind, values = onnx.TensorProto.FLOAT, [float(seed)] * 5000
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Add", ["x", "w"], ["y"])],
        "translate_ids",
        [value("x", kind, [5000])],
        [value("y", kind, [5000])],
        [onnx.helper.make_tensor("w", kind, [5000], values)],
    )
    model = onnx.helper.make_model(graph, ir_version=8)
    model.opset_import[0].version = 18
    tokenizers = {"source_tokenizer": '{"class_name": "x"}'}
    onnx.helper.set_model_props(model, {**tokenizers, "sha256": SEAL.decode()})
    path.write_bytes(model.SerializeToString())
    seal(path)


# One damaged file after the other.


def attempt(reader, folder, name, wanted):
    """Read a file, and name what comes of it."""
    try:
        found = reader(folder, name)
    except ValueError as error:
        named = name in str(error)
        return "refused" if named else f"not named: {error!r}"
    except OSError as error:
        named = error.errno == errno.EMFILE and error.filename
        return "machine" if named else f"raw: {error!r}"
    except Exception as error:
        return f"raw: {error!r}"
    return "same" if found == wanted else "other"


def place(bases, kind, files, checksums, folder):
    """Copy the files of a format, and return what is in them."""
    main = "translator.json"
    inside = bases / kind / ("all" if main in files else "")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(inside, folder)
    if main in files and not checksums:
        content = json.loads((folder / main).read_text())
        del content["sha256"]  # as version 0.1 wrote it
        (folder / main).write_text(json.dumps(content))
    return {name: (folder / name).read_bytes() for name in files}


def limit_memory():
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MOST
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


@contextlib.contextmanager
def no_more_files():
    """Let the process open no more files."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def say(*row):
    print(json.dumps(row), flush=True)


def read_damaged(bases, kind, first, last):
    """Read the files of one format."""
    reader, files, checksums = FORMATS[kind]
    target = bases / "damaged"
    others = place(bases, "other", files, checksums, target)
    whole = place(bases, "this", files, checksums, target)
    wanted = {file: reader(target, file) for file in files}
    limit_memory()
    for number in range(first, last):
        draw = random.Random(number)
        file = draw.choice(files)
        how, content = damage(whole[file], others[file], draw)
        say(kind, number, file, how)
        (target / file).write_bytes(content)
        outcome = attempt(reader, target, file, wanted[file])
        if outcome == "other" and content == others[file]:
            outcome = "swapped"  # for a whole file, which is no damage
        (target / file).write_bytes(whole[file])
        say(kind, number, file, how, outcome, most_kilobytes())
    with no_more_files():
        outcome = attempt(reader, target, files[-1], None)
    say(kind, last, files[-1], "closed", outcome, most_kilobytes())


if __name__ == "__main__":
    bases = Path(sys.argv[1])
    if not any(bases.iterdir()):
        make(bases / "this", 0, TEXTS)
        make(bases / "other", 1, [x[::-1] for x in TEXTS])
    warnings.simplefilter("error")
    for job in sys.argv[2:]:
        kind, first, last = job.split(":")
        read_damaged(bases, kind, int(first), int(last))
