"""Agreement: what must be the same, and what rounding may change."""

import numpy as np
import pytest
import tensorflow as tf
from tiers import some
from word_by_word import table_model

from keras_attention import BeamSearch
from keras_attention.export.agreement import check_answers
from keras_attention.export.agreement import check_texts
from keras_attention.export.agreement import probe_inputs
from keras_attention.export.agreement import probe_sources
from keras_attention.export.ids import trace_ids

pytestmark = pytest.mark.usefixtures("without_graphs_of_its_own")

SEARCH = BeamSearch(
    3, n_best=2, max_length=6, length_penalty=0.6, coverage_penalty=0.2
)


@pytest.fixture(scope="module")
def found():
    model = table_model(14)
    sources = probe_inputs(model)
    translate = trace_ids(model, SEARCH, None)
    return sources, [
        {name: x.numpy() for name, x in translate(*source.values()).items()}
        for source in sources
    ]


def changed(answers, name, change):
    """Copy answers, and change one of the arrays in each."""
    return [{**answer, name: change(answer[name])} for answer in answers]


def check(found, answers, exact=True):
    model = table_model(14)
    check_answers("file", model, SEARCH, found[0], answers, exact)


def test_sources_are_framed_and_padded_and_always_the_same():
    first, second = probe_sources(14), probe_sources(14)
    assert len({ids.shape for ids in first}) > 1
    for ids, again in zip(first, second, strict=True):
        np.testing.assert_array_equal(ids, again)
        assert ids.dtype == np.int32
        for row in ids:
            real = row[: np.count_nonzero(row)]
            assert (real[0], real[-1]) == (2, 3)
            assert set(real[1:-1]) <= {1, *range(4, 14)}
    assert {*np.concatenate([x.ravel() for x in probe_sources(4)])} == {
        *range(4)
    }
    for both, ids in zip(probe_sources((14, 9)), first, strict=True):
        np.testing.assert_array_equal(both[..., 0], ids)
        assert both[..., 1].max() < 9


@pytest.mark.parametrize(
    ("name", "change"),
    some(
        [
            ("scores", lambda x: x + 0.01),
            ("tokens", lambda x: x[..., ::-1].copy()),
            ("tokens", lambda x: x.astype("int64")),
            ("tokens", lambda x: x[..., :-1]),
            ("scores", lambda x: x * np.nan),
            ("token_scores", lambda x: x + 0.01),
        ],
        4,
    ),
)
def test_wrong_answers_are_told(found, name, change):
    answers = changed(found[1], name, change)
    with pytest.raises(RuntimeError, match=r"file returns other .* written"):
        check(found, answers)


def test_of_quantized_models_only_the_form_counts(found):
    check(found, changed(found[1], "scores", lambda x: x + 1), exact=False)
    for change in (lambda x: x * np.nan, lambda x: x[:, :1]):
        answers = changed(found[1], "scores", change)
        with pytest.raises(RuntimeError, match="other `scores`"):
            check(found, answers, exact=False)


def test_attention_counts(found):
    assert {"tokens", "scores", "token_scores"} < found[1][0].keys()
    assert found[1][0]["attention"].ndim == 4
    answers = changed(found[1], "attention", lambda x: x + 0.01)
    with pytest.raises(RuntimeError, match="other `attention`"):
        check(found, answers)


def test_few_other_texts_pass_with_their_own_scores(found):
    """What their lengths and coverage cost counts, however they end."""
    sources, answers = found
    last = answers[-1]

    def others(count, shift=0.0):
        """Let that many rows of the last batch have the worse text first."""
        changed = {name: x.copy() for name, x in last.items()}
        for name, x in last.items():
            changed[name][:count] = x[:count, ::-1]
        changed["scores"][0] += shift
        return [*answers[:-1], changed]

    check(found, others(2))
    with pytest.raises(RuntimeError, match="other `tokens`"):
        check([sources[-1:]], others(4)[-1:])
    with pytest.raises(RuntimeError, match="other `scores`"):
        check(found, others(2, 0.01))


def test_texts_may_differ_in_half_of_the_rows():
    texts = np.array([[b"a"], [b"b"], [b"c"], [b"d"]], object)
    scores = -np.ones((4, 1), "float32")
    wanted = {"translations": texts, "scores": scores}
    wanted = {name: tf.constant(x) for name, x in wanted.items()}

    def check(count, text=b"x", shift=0.0, exact=True):
        """Let that many rows of the file say something else."""
        given = {"translations": texts.copy(), "scores": scores.copy()}
        given["translations"][:count] = text
        given["scores"][:count] += 0.5
        given["scores"][count:] += shift
        check_texts("file", [wanted], [given], exact)

    check(0)
    check(2)
    check(4, exact=False)
    check(2, shift=0.1, exact=False)
    with pytest.raises(RuntimeError, match="other `translations`"):
        check(3)
    with pytest.raises(RuntimeError, match="other `scores`"):
        check(2, shift=0.1)
    with pytest.raises(RuntimeError, match="other `scores`"):
        check(2, shift=np.nan, exact=False)
