"""Operations on arrays: what TensorFlow gives."""

import keras
import numpy as np
import pytest

from keras_attention.text import arrays

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

IDS = np.array([[3, 0, 2], [1, 1, 0]], "int32")
WORDS = np.array([["a", "", "ä"], ["b", "a", ""]], object)
CASES = {
    "boolean_mask": lambda ops: ops.boolean_mask(WORDS, IDS > 0),
    "cast": lambda ops: ops.cast(IDS > 1, ops.int32),
    "clip": lambda ops: ops.clip_by_value(IDS, 1, 2),
    "concat": lambda ops: ops.concat([WORDS, WORDS], axis=1),
    "constant": lambda ops: ops.constant(["a", b"\xc3\xa4"], ops.string, (2,)),
    "cumsum": lambda ops: ops.cumsum(IDS, axis=1),
    "empty": lambda ops: ops.constant([], ops.string),
    "ensure_shape": lambda ops: ops.ensure_shape(IDS, (None, None)),
    "gather": lambda ops: ops.gather(ops.constant([*"wxyz"]), IDS),
    "gather in rows": lambda ops: ops.gather(
        ops.constant(WORDS), np.minimum(IDS, 2), batch_dims=1
    ),
    "gather deep": lambda ops: ops.gather(
        ops.constant(WORDS), np.minimum(IDS, 2)[:, None], batch_dims=1
    ),
    "maximum": lambda ops: ops.maximum(IDS, 1),
    "minimum": lambda ops: ops.minimum(IDS, 1),
    "pad": lambda ops: ops.pad(IDS, [[0, 0], [1, 2]]),
    "pad flags": lambda ops: ops.pad(
        IDS > 1, [[0, 0], [1, 0]], constant_values=True
    ),
    "pad strings": lambda ops: ops.pad(WORDS, [[0, 1], [1, 0]]),
    "range": lambda ops: ops.range(ops.size(IDS)),
    "reduce_max": lambda ops: ops.reduce_max(IDS),
    "reshape": lambda ops: ops.reshape(WORDS, (-1,)),
    "shape": lambda ops: ops.shape(IDS),
    "size": lambda ops: ops.size(IDS),
    "stack": lambda ops: ops.stack([-1, 3]),
    "where": lambda ops: ops.where(IDS > 1, 7, IDS),
    "where strings": lambda ops: ops.where(IDS > 1, "", WORDS),
    "where two strings": lambda ops: ops.where(IDS > 1, "", " ") + WORDS,
}


@pytest.mark.parametrize("call", CASES.values(), ids=CASES)
def test_gives_what_tensorflow_gives(call):
    found, wanted = call(arrays), call(tf).numpy()
    found = np.asarray(found)
    assert found.shape == wanted.shape
    assert found.dtype.kind == wanted.dtype.kind
    wanted = wanted.ravel().tolist()
    wanted = [x.decode() if isinstance(x, bytes) else x for x in wanted]
    assert found.ravel().tolist() == wanted


def test_unique_entries_make_up_the_array():
    kinds, kind = arrays.unique(WORDS.ravel())
    assert kinds[kind].tolist() == WORDS.ravel().tolist()
    assert sorted(kinds) == ["", "a", "b", "ä"]


def test_functions_convert_what_they_are_told_to():
    spec = arrays.TensorSpec((None,), arrays.string, name="text")
    join = arrays.function(lambda x, *rest: (x, rest), [spec], autograph=False)
    text, rest = join([b"a", "b"], b"c")
    assert text.tolist() == ["a", "b"]
    assert rest == (b"c",)


def test_bytes_are_kept_whatever_they_are():
    found = arrays.constant([b"\xff\xe4a"], arrays.string)[0]
    assert found.encode("utf-8", "surrogateescape") == b"\xff\xe4a"


@pytest.mark.parametrize("wrong", [3, None, ["a"]])
def test_what_is_no_string_is_refused(wrong):
    with pytest.raises(ValueError, match="needs strings"):
        arrays.constant([wrong, "a"], arrays.string)


def test_the_cache_knows_the_version():
    assert arrays.__version__.startswith("unicode ")


def test_what_decorates_graphs_changes_nothing():
    decorate = arrays.autograph.experimental.do_not_convert
    assert decorate(len) is len
    assert isinstance(arrays.Module(), object)
