"""Operations on strings: what TensorFlow gives."""

import keras
import numpy as np
import pytest

from keras_attention.text import arrays

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf
    import tensorflow_text

TEXT = np.array(["Ein  Hund\n", "", " \tÄß ﬁ ① \v", "ΑΣ İ\x85"], object)
CASES = {
    "as_string": lambda s: s.as_string(np.arange(3)),
    "join": lambda s: s.reduce_join(TEXT.reshape(2, 2), axis=1),
    "join nothing": lambda s: s.reduce_join(TEXT[:0].reshape(2, 0), axis=-1),
    "lower": lambda s: s.lower(TEXT, encoding="utf-8"),
    "match": lambda s: s.regex_full_match(TEXT, r"(?s).*[\s].*"),
    "replace": lambda s: s.regex_replace(TEXT, r"([\pL])|\s", r"<\1>"),
    "strip": lambda s: s.strip(TEXT),
    "transcode": lambda s: s.unicode_transcode(TEXT, "UTF-8", "UTF-8"),
}
ROWS = {
    "split": lambda s: s.split(TEXT, "\n"),
    "characters": lambda s: s.unicode_split(TEXT, "UTF-8"),
}


def decoded(tensor):
    found = tensor.numpy().ravel().tolist()
    return [x.decode() if isinstance(x, bytes) else x for x in found]


@pytest.mark.parametrize("call", CASES.values(), ids=CASES)
def test_gives_what_tensorflow_gives(call):
    found, wanted = call(arrays.strings), call(tf.strings)
    assert found.shape == wanted.shape
    assert found.ravel().tolist() == decoded(wanted)


@pytest.mark.parametrize("call", ROWS.values(), ids=ROWS)
def test_splits_as_tensorflow_splits(call):
    found, wanted = call(arrays.strings), call(tf.strings)
    lengths = wanted.row_lengths().numpy().tolist()
    assert found.row_lengths().tolist() == lengths
    assert found.flat_values.tolist() == decoded(wanted.flat_values)


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_normalizes_as_tensorflow_normalizes(form):
    wanted = tensorflow_text.normalize_utf8(TEXT, form)
    found = arrays.strings.normalize(TEXT, form)
    assert found.tolist() == decoded(wanted)


def test_bytes_that_are_no_text_are_replaced():
    broken = [b"a\xff", b"\xe2\x82", b"\xed\xa0\x80", b"\xc0\x80"]
    wanted = tf.strings.unicode_transcode(broken, "UTF-8", "UTF-8")
    given = arrays.constant(broken, arrays.string)
    found = arrays.strings.unicode_transcode(given, "UTF-8", "UTF-8")
    assert found.tolist() == decoded(wanted)
