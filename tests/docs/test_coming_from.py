"""Pages for those who come from elsewhere: they run, and leave nothing out."""

import re
from pathlib import Path

import keras
import numpy as np
import pages
import pytest
import run
from gradients import to_numpy
from tfa_programs import GOLDEN

import keras_attention as ka

pytestmark = pytest.mark.tensorflow

DOCS = Path(__file__).parents[2] / "docs"
TFA = DOCS / "guides" / "coming_from_tfa.md"
OTHERS = DOCS / "coming_from_others.md"
PAGES = [TFA, OTHERS]
# All public names of `tfa.seq2seq` in version 0.23.
NAMES = """
AttentionMechanism AttentionWrapper AttentionWrapperState BahdanauAttention
BahdanauMonotonicAttention BaseDecoder BasicDecoder BasicDecoderOutput
BeamSearchDecoder BeamSearchDecoderOutput BeamSearchDecoderState CustomSampler
Decoder FinalBeamSearchDecoderOutput GreedyEmbeddingSampler InferenceSampler
LuongAttention LuongMonotonicAttention SampleEmbeddingSampler Sampler
ScheduledEmbeddingTrainingSampler ScheduledOutputTrainingSampler SequenceLoss
TrainingSampler dynamic_decode gather_tree gather_tree_from_array hardmax
monotonic_attention safe_cumprod sequence_loss tile_batch
safe_embedding_lookup_sparse
""".split()


def rows(page):
    """The first and the second column of all rows of all tables."""
    found = re.findall(r"^\| (.+?) \| (.+) \|$", page.read_text(), re.M)
    return [row for row in found if not row[0].startswith("---")]


def table(title):
    """The rows of one table of the page on TFA, by its first heading."""
    text = TFA.read_text().partition(f"| {title} |")[2]
    return text.partition("\n\n")[0]


@pytest.mark.slow
def test_the_program_of_tfa_runs_here_with_its_weights(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page, _, scope = run.run_guide(TFA)
    assert run.differences(TFA.read_text(), page) == []
    assert scope["difference"] < 1e-5
    assert scope["history"].history["loss"][-1] < 0.5
    logits, target = scope["logits"], scope["target"]
    with np.load(GOLDEN / "page" / "found.npz") as theirs:
        real = target[:8, :-1] != 0
        np.testing.assert_allclose(
            logits[real], theirs["logits"][real], atol=1e-5
        )
        for search in ("greedy", "beams"):
            tokens = to_numpy(scope[search].tokens)[:, 0]
            want = until_the_end(theirs[search], scope["END"])
            np.testing.assert_array_equal(tokens[:, : want.shape[1]], want)
    assert scope["translate"](["she sees him ."]) == ["ella lo ve."]
    keras.backend.clear_session()


def until_the_end(ids, end):
    """Ids up to the first end, and 0 after it, as our searches give them."""
    before = np.cumsum(ids == end, axis=1) - (ids == end)
    return np.where(before == 0, ids, 0)


@pytest.mark.slow
def test_others_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = {}
    pages.run(OTHERS, scope)
    assert scope["difference"] < 1e-6
    assert len(scope["found"]) == 1  # the tutorial's program translates
    keras.backend.clear_session()


def test_every_name_of_tfa_has_a_row():
    first = " ".join(
        row.partition(" | ")[0] for row in table("`tfa.seq2seq`").splitlines()
    )
    missing = [x for x in NAMES if not re.search(rf"\b{x}\b", first)]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda x: x.stem)
def test_every_name_of_ours_exists(page):
    """Classes in the second column are those of Keras, of TFA, or ours."""
    known = {*dir(ka), *dir(keras.layers)}
    said = re.findall(r"`([A-Z][a-z]\w+)\b", " ".join(r[1] for r in rows(page)))
    other = {"Generation", "True", "False", "None", "Dense"}
    assert set(said) - known - other == set()
    for path in re.findall(r"\]\(([^)#:]+)", page.read_text()):
        assert (page.parent / path).exists(), path
