"""Tables: known strings and all others."""

import numpy as np

from keras_attention.text.arrays import lookup


def test_other_strings_have_the_default_value():
    entries = lookup.KeyValueTensorInitializer(["a", "ä"], [4, 5], "int32")
    table = lookup.StaticHashTable(entries, default_value=1)
    found = table.lookup(np.array([["ä", "b"], ["a", ""]], object))
    assert found.tolist() == [[5, 1], [4, 1]]
    assert found.dtype == "int32"
