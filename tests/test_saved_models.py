"""What is committed in `saved_models` runs where nothing of ours is."""

import random
import shutil
from pathlib import Path

import litert_translate
import numpy as np
import pytest
from helpers import shapes
from helpers.dates import all_dates
from helpers.dates import make_pairs
from served import ask

ROOT = Path(__file__).parents[1]
CAPTIONS = ROOT / "saved_models" / "captions" / "captions.onnx"
COMMITTED = ROOT / "saved_models" / "dates" / "1"
DATES = random.Random(1).sample(all_dates(held_out=True), 200)
SENTENCES, WANTED = make_pairs(DATES, seed=1)
SAME_DATE = [
    "Thursday, February 29, 2024",
    "2024년 2월 29일 목요일",
    "29. FEBRUAR 2024",  # case
    "２０２４／０２／２９",  # full-width, which NFKC makes ASCII # noqa: RUF001
    "29 fe\u0301vrier 2024",  # an accent of its own
]
BATCHES = {
    "nothing": [],
    "an empty string": [""],
    "one": SAME_DATE[:1],
    "three": ["", *SAME_DATE[:2]],
    "long": ["2024-02-29 " * 50],
    "not UTF-8": [b"\xff\xfe\x80 3 mars 2021", b"\x00", b"3 mars 2021"],
    "a NUL": ["\0 12 May 2021", "\ufffd 12 May 2021"],
    "the same date": SAME_DATE,
    "held out": SENTENCES,
}
SIGNATURES = ["serving_default", "align"]


def as_bytes(batch):
    return [x if isinstance(x, bytes) else x.encode() for x in batch]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Answers of a copy, in a process without Keras and TensorFlow Text."""
    folder = tmp_path_factory.mktemp("elsewhere") / "moved"
    shutil.copytree(COMMITTED, folder)
    requests = {
        (signature, name): as_bytes(batch)
        for signature in SIGNATURES
        for name, batch in BATCHES.items()
    }
    sent = [(folder, key[0], texts) for key, texts in requests.items()]
    found = ask(sent, with_operations=False)
    answers = zip(requests, found.pop("answers"), strict=True)
    for (signature, name), answer in answers:
        found.setdefault(signature, {})[name] = answer
    return found


def texts(answer):
    return [row[0].decode() for row in answer["translations"]]


@pytest.mark.slow
def test_held_out_dates_are_read(served):
    found = texts(served["serving_default"]["held out"])
    right = np.mean([x == y for x, y in zip(found, WANTED, strict=True)])
    assert right >= 0.98


@pytest.mark.parametrize("signature", SIGNATURES)
def test_any_batch_of_any_length_has_an_answer(served, signature):
    for name, batch in BATCHES.items():
        answer = served[signature][name]
        assert answer["translations"].shape == (len(batch), 1)
        assert answer["scores"].shape == (len(batch), 1)
        assert np.isfinite(answer["scores"]).all()


def test_case_width_and_accents_do_not_matter(served):
    found = texts(served["serving_default"]["the same date"])
    assert found == ["2024-02-29"] * len(SAME_DATE)


def test_a_nul_cuts_nothing_off(served):
    first, second = texts(served["serving_default"]["a NUL"])
    assert first == second


def test_the_litert_file_reads_the_same_dates(served):
    found = litert_translate.main(
        file=COMMITTED.parent / "translator.tflite", sentences=SENTENCES
    )
    assert found == texts(served["serving_default"]["held out"])


def test_attention_is_over_the_letters(served):
    answer = served["align"]["three"]
    source, weights = answer["source_tokens"], answer["attention"]
    target = answer["target_tokens"][:, 0]
    written = target != b""  # (B, T)
    assert "".join(x.decode() for x in source[1][1:-1]) == SAME_DATE[0].lower()
    assert weights.shape == (*answer["target_tokens"].shape, source.shape[1])
    np.testing.assert_allclose(weights[:, 0].sum(-1)[written], 1, atol=1e-5)
    padding = np.broadcast_to((source == b"")[:, None, None], weights.shape)
    assert padding.any()
    assert not weights[padding].any()


def test_it_needs_no_operation_that_serving_lacks(served):
    (used,) = served["used"].values()  # it was loaded by TensorFlow alone
    assert not [x for x in used if "cudnn" in x.lower()]
    assert "PyFunc" not in used


def test_it_is_small_enough_to_commit():
    files = [file for file in COMMITTED.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 3e6


def test_the_captioner_says_what_it_sees():
    from onnxruntime import InferenceSession

    session = InferenceSession(CAPTIONS)
    images, wanted = shapes.make_scenes(200, held_out=True, seed=5)
    names = ["translations", "target_tokens", "attention"]
    found, words, weights = session.run(names, {"source": images})
    right = np.mean([x == y for x, y in zip(found[:, 0], wanted, strict=True)])
    assert right >= 0.95
    for text, row, looks in zip(
        found[:, 0], words[:, 0], weights[:, 0], strict=True
    ):
        assert [*filter(None, row)] == [*text.split(), "</s>"]
        count = len(text.split()) + 1
        np.testing.assert_allclose(looks[:count].sum(axis=-1), 1, atol=1e-5)
    assert CAPTIONS.stat().st_size < 2e6
