"""Translation: what was asked for, and nothing else."""

import numpy as np
from tiny import tiny_translator

from keras_attention.translation import Translation
from keras_attention.translation import join_entries

ENTRY = Translation(
    "x", -0.5, ["<s>", "a"], ["x", "</s>"], np.ones((2, 2)), -np.ones(2)
)


def test_what_was_not_asked_for_is_none():
    assert join_entries([ENTRY], False, False) == Translation(["x"])
    scored = join_entries([ENTRY, ENTRY], True, False)
    assert scored == Translation(["x", "x"], [-0.5, -0.5])
    tokens = join_entries([ENTRY], False, False, True)
    assert tokens.target_tokens == [["x", "</s>"]]
    assert tokens.source_tokens is tokens.attention is None
    aligned = join_entries([ENTRY], False, True)
    assert aligned.source_tokens == [["<s>", "a"]]
    assert aligned.attention[0].shape == (2, 2)
    assert aligned.token_scores is None


def test_unknown_tokens_are_told():
    tiny = tiny_translator()
    found = tiny(["1x2", "12", "é€"], return_scores=True)
    assert found.unknown == [["x"], [], ["é", "€"]]
    assert tiny.score(["1x"], ["r"]).unknown is None


def test_features_have_no_source_tokens():
    features = ENTRY._replace(source_tokens=None)
    found = join_entries([features], False, True)
    assert found.source_tokens is None
    assert found.target_tokens == [["x", "</s>"]]
