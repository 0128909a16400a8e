"""Serves a SavedModel by the C API of TensorFlow; a program for subprocesses.

It imports neither TensorFlow nor Keras: what it runs is what TensorFlow
Serving runs, the session loader of `libtensorflow`, with the operations of
`tensorflow_text` as Serving links them.

    python libtensorflow.py < question > answer

Both are pickled, as `ask` of `served.py` writes and reads them.
"""

import ctypes
import importlib.util
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from memory import most_kilobytes

FORBIDDEN = {"tensorflow", "tensorflow_text", "keras", "keras_attention"}
# What `tensorflow_model_server` links of `tensorflow_text`, its `ops_lib`.
LINKED = """
_boise_offset_converter _byte_splitter _constrained_sequence_op
_fast_bert_normalizer _fast_sentencepiece_tokenizer _fast_wordpiece_tokenizer
_mst_ops _ngrams_op _normalize_ops _phrase_tokenizer _regex_split_ops
_sentence_breaking_ops _sentencepiece_tokenizer _split_merge_tokenizer
_split_merge_from_logits_tokenizer _state_based_sentence_breaker_op
_trimmer_ops _unicode_script_tokenizer _utf8_binarize_op _whitespace_tokenizer
_whitespace_tokenizer_v2 _wordpiece_tokenizer
""".split()
FLOAT, STRING = 1, 7  # of TF_DataType


# What serving needs of `saved_model.pb`, which is a protocol buffer.


class TensorInfo(NamedTuple):
    """Name and type of a tensor, as a signature has them."""

    name: str
    dtype: int


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of every field of a protocol buffer."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(message, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if kind == 2:
                size, at = varint(message, at)
            value = message[at : at + size]
            at += size
        yield number, value


def varint(message: bytes, at: int) -> tuple[int, int]:
    """Read a number of seven bits a byte: the number, and where it ends."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def every(message: bytes, *path: int) -> Iterator:
    """Yield all values at a path of field numbers."""
    for number, value in fields(message):
        if number == path[0]:
            yield from every(value, *path[1:]) if path[1:] else [value]


def entries(message: bytes, number: int) -> dict[str, bytes]:
    """Read a map field whose keys are strings."""
    pairs = [dict(fields(entry)) for entry in every(message, number)]
    return {pair[1].decode(): pair.get(2, b"") for pair in pairs}


def tensors(signature: bytes, number: int) -> dict[str, TensorInfo]:
    """Name the inputs (1) or the outputs (2) of a SignatureDef."""
    found = {}
    for name, info in entries(signature, number).items():
        info = dict(fields(info))
        found[name] = TensorInfo(info[1].decode(), info[2])
    return dict(sorted(found.items()))


def read_saved_model(folder: str | Path) -> tuple[dict, set[str]]:
    """Read signatures and names of operations.

    Args:
        folder: The SavedModel.

    Returns:
        Inputs and outputs, two dicts of `TensorInfo`, for every signature
        that has an input; and the operations of the graph and its functions.
    """
    content = Path(folder, "saved_model.pb").read_bytes()
    (graph,) = every(content, 2)  # SavedModel.meta_graphs
    signatures = {
        name: (tensors(signature, 1), tensors(signature, 2))
        for name, signature in entries(graph, 5).items()
        if tensors(signature, 1)
    }
    nodes = every(graph, 2, 1, 2)  # graph_def.node.op
    inner = every(graph, 2, 2, 1, 3, 2)  # library.function.node_def.op
    own = every(graph, 2, 2, 1, 1, 1)  # library.function.signature.name
    operations = {*nodes, *inner} - {*own}
    return signatures, {name.decode() for name in operations}


# The C API.


class Buffer(ctypes.Structure):
    """TF_Buffer: bytes, and how to free them."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("free", ctypes.c_void_p),
    ]


class Output(ctypes.Structure):
    """TF_Output: an operation, and which of its results."""

    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


class String(ctypes.Structure):
    """TF_TString: opaque, 24 bytes."""

    _fields_ = [("opaque", ctypes.c_uint64 * 3)]


def package(name: str) -> Path:
    """Find the folder of a package without importing it."""
    return Path(importlib.util.find_spec(name).submodule_search_locations[0])


def open_library():
    """Open `libtensorflow`, and say what does not return an `int`."""
    # Global, as in a server: libraries of operations that had hash functions of
    # their own would not find the attributes of their nodes.
    file = str(package("tensorflow") / "libtensorflow_cc.so.2")
    tf = ctypes.CDLL(file, ctypes.RTLD_GLOBAL)
    for pointers in (
        "NewStatus NewGraph NewSessionOptions LoadSessionFromSavedModel",
        "GraphOperationByName AllocateTensor TensorData LoadLibrary",
        "StringGetDataPointer",
    ):
        for name in pointers.split():
            getattr(tf, f"TF_{name}").restype = ctypes.c_void_p
    tf.TF_Message.restype = ctypes.c_char_p
    tf.TF_GetAllOpList.restype = ctypes.POINTER(Buffer)
    for name in ("StringGetSize", "TensorByteSize"):
        getattr(tf, f"TF_{name}").restype = ctypes.c_size_t
    tf.TF_Dim.restype = ctypes.c_int64
    return tf


TF = open_library()


def pointer(address):
    return ctypes.c_void_p(address)


class Status:
    """A call's status; leaving the block raises what went wrong."""

    def __enter__(self):
        self.status = pointer(TF.TF_NewStatus())
        return self.status

    def __exit__(self, *_):
        code = TF.TF_GetCode(self.status)
        message = TF.TF_Message(self.status).decode(errors="replace")
        TF.TF_DeleteStatus(self.status)
        if code:
            raise RuntimeError(f"code {code}: {message}")


def known_operations() -> set[str]:
    """Name all operations that are registered now."""
    found = TF.TF_GetAllOpList()
    content = ctypes.string_at(found[0].data, found[0].length)
    TF.TF_DeleteBuffer(found)
    return {name.decode() for name in every(content, 1, 1)}


def load_operations():
    """Load what Serving links beside TensorFlow's own operations."""
    folder = package("tensorflow_text") / "python" / "ops"
    for name in LINKED:
        with Status() as status:
            TF.TF_LoadLibrary(bytes(folder / f"{name}.so"), status)


class Model:
    """A session on a SavedModel, and its signatures."""

    def __init__(self, folder: str):
        self.signatures, self.operations = read_saved_model(folder)
        self.graph = pointer(TF.TF_NewGraph())
        options = pointer(TF.TF_NewSessionOptions())
        tags = (ctypes.c_char_p * 1)(b"serve")
        where = folder.encode()
        with Status() as status:
            self.session = pointer(
                TF.TF_LoadSessionFromSavedModel(
                    options, None, where, tags, 1, self.graph, None, status
                )
            )

    def output(self, name: str) -> Output:
        operation, _, index = name.partition(":")
        found = TF.TF_GraphOperationByName(self.graph, operation.encode())
        return Output(found, int(index))

    def run(self, signature: str, texts: list[bytes]) -> dict:
        """Answer one request: the outputs by their names, as arrays."""
        inputs, outputs = self.signatures[signature]
        (feed,) = inputs.values()
        feeds = (Output * 1)(self.output(feed.name))
        fetches = (Output * len(outputs))(
            *(self.output(info.name) for info in outputs.values())
        )
        given = (ctypes.c_void_p * 1)(make_tensor(texts))
        found = (ctypes.c_void_p * len(outputs))()
        run = TF.TF_SessionRun
        with Status() as status:
            run(
                *(self.session, None),
                *(feeds, given, 1),
                *(fetches, found, len(outputs)),
                *(None, 0, None, status),
            )
        answer = {
            name: read_tensor(pointer(tensor))
            for name, tensor in zip(outputs, found, strict=True)
        }
        for tensor in (*given, *found):
            TF.TF_DeleteTensor(pointer(tensor))
        for name, info in outputs.items():
            wanted = {FLOAT: np.float32, STRING: object}[info.dtype]
            assert answer[name].dtype == wanted, name
        return answer


def strings(tensor, count):
    """View the strings that a tensor holds."""
    address = TF.TF_TensorData(tensor)
    return (String * count).from_address(address) if count else []


def make_tensor(texts):
    shape = (ctypes.c_int64 * 1)(len(texts))
    size = ctypes.c_size_t(len(texts) * ctypes.sizeof(String))
    tensor = TF.TF_AllocateTensor(STRING, shape, 1, size)
    for place, text in zip(
        strings(pointer(tensor), len(texts)), texts, strict=True
    ):
        TF.TF_StringInit(ctypes.byref(place))
        length = ctypes.c_size_t(len(text))
        TF.TF_StringCopy(ctypes.byref(place), text, length)
    return tensor


def read_tensor(tensor):
    rank = TF.TF_NumDims(tensor)
    shape = [TF.TF_Dim(tensor, axis) for axis in range(rank)]
    if TF.TF_TensorType(tensor) == FLOAT:
        size = TF.TF_TensorByteSize(tensor)
        raw = ctypes.string_at(TF.TF_TensorData(tensor), size) if size else b""
        return np.frombuffer(raw, np.float32).reshape(shape)
    assert TF.TF_TensorType(tensor) == STRING
    found = np.empty(int(np.prod(shape)), object)
    for i, place in enumerate(strings(tensor, len(found))):
        place = ctypes.byref(place)
        address = TF.TF_StringGetDataPointer(place)
        found[i] = ctypes.string_at(address, TF.TF_StringGetSize(place))
    return found.reshape(shape)


def answer(folder: str, with_operations: bool, requests: list) -> dict:
    """Answer requests, each of a signature and a batch of texts.

    Returns:
        `answers`, arrays by their names for each request; `kilobytes`, the
        most memory that the process had; and sets of names of operations:
        `used` by the model, TensorFlow's `own`, and those `linked` to it.
    """
    own = known_operations()
    if with_operations:
        load_operations()
    model = Model(folder)
    answers = [model.run(*request) for request in requests]
    loaded = {name.partition(".")[0] for name in sys.modules}
    assert not loaded & FORBIDDEN, loaded & FORBIDDEN
    return {
        "answers": answers,
        "kilobytes": most_kilobytes(),
        "used": model.operations,
        "own": own,
        "linked": known_operations() - own,
    }


if __name__ == "__main__":
    pickle.dump(answer(*pickle.load(sys.stdin.buffer)), sys.stdout.buffer)
