"""Memory: the masks of a call are tested by the laws of masks."""

from keras_attention import Memory


def test_has_three_parts():
    parts = Memory("keys", "values")
    assert parts == ("keys", "values", None)
    assert Memory(*["k", "v", "m"]).mask == "m"
