"""HardAttention through what is built on models, up to files of others."""

import keras
import numpy as np
import pytest
from every_text import before
from every_text import check_best
from every_text import every_text
from keras import ops
from mechanisms import ALIGNMENTS
from mechanisms import ALONE
from mechanisms import MECHANISMS
from samples import assert_close
from samples import to_numpy
from seq2seqs import SOURCE
from seq2seqs import WORDS
from seq2seqs import small_language_model
from seq2seqs import small_model
from tables import arrays

import keras_attention as ka

pytestmark = pytest.mark.usefixtures("without_graphs")

TAKEN = {"additive", "normalized", "location", "cosine", "dot", "kernel"}
TAKEN |= {"luonggeneral", "softmax"}
SEARCHES = {
    "greedy": ka.GreedySearch(max_length=5),
    "beams": ka.BeamSearch(3, n_best=2, max_length=5),
}
KINDS = {"order 0": (0,), "order 1": (1,), "monotonic": (1, True)}
DIGITS = ["7", "1234", "905", "42"]


def hard_model(*kind, **options):
    attention = ka.BahdanauAttention(4)
    output = ka.HardAttention(attention, 6, *(kind or (1, True)))
    return small_model(None, output=output, **options)


def hard_translator(search, *kind):
    tokenizer = ka.CharacterTokenizer("0123456789", "identity")
    size = tokenizer.vocabulary_size
    sizes = {
        "source_vocabulary_size": size,
        "target_vocabulary_size": size,
    }
    model = hard_model(*kind, **sizes)
    return ka.Translator(model, tokenizer, tokenizer, search)


def every_attention():
    made = {name: make("softmax") for name, make in MECHANISMS.items()}
    made |= {name: make() for name, make in ALONE.items()}
    for name, alignment in ALIGNMENTS.items():
        made[name] = ka.BahdanauAttention(3, alignment=alignment)
    return made


def test_what_scores_by_query_and_key_is_taken_and_no_other():
    taken = set()
    reasons = "earlier weights|several heads|no softmax of scores"
    for name, attention in every_attention().items():
        if name in TAKEN:
            taken.add(name)
            ka.HardAttention(attention, 4)
            continue
        with pytest.raises(ValueError, match=f"(?s)whose.*({reasons}).*Try"):
            ka.HardAttention(attention, 4)
    assert taken == TAKEN


@pytest.mark.slow
def test_a_language_model_helps_it():
    model, helper = hard_model(), small_language_model()
    fused = ka.ShallowFusion(model, helper, 0.4)
    texts = every_text(WORDS, 3)
    search = ka.BeamSearch(len(texts), n_best=20, max_length=3)
    found = arrays(fused.generate(SOURCE, search))
    for row, source in enumerate(SOURCE):
        sources, scores = np.repeat(source[None], len(texts), axis=0), 0.0
        inputs = before(texts)
        for logits, share in (
            (model((sources, inputs)), 1.0),
            (helper(inputs), 0.4),
        ):
            logs = to_numpy(ops.log_softmax(logits))
            taken = np.take_along_axis(logs, texts[..., None], -1)[..., 0]
            scores = scores + share * np.where(texts == 0, 0, taken)
        check_best(found, row, texts, scores.sum(axis=1))


@pytest.mark.slow
def test_a_translator_shows_where_it_reads_and_comes_back(tmp_path):
    translator = hard_translator(SEARCHES["beams"], *KINDS["monotonic"])
    told = translator(
        DIGITS, return_scores=True, return_attention_scores=True, verbose=0
    )
    for texts, weights in zip(told.texts, told.attention, strict=True):
        assert len(texts) == len(weights) == 2
        for one in weights:
            np.testing.assert_allclose(one.sum(axis=-1), 1, atol=1e-5)
    one_by_one = [translator([x], verbose=0)[0] for x in DIGITS]
    assert one_by_one == told.texts
    translator.save(tmp_path / "translator")
    again = ka.Translator.load(tmp_path / "translator")
    assert again(DIGITS, verbose=0) == told.texts


@pytest.mark.slow
def test_a_file_of_keras_writes_the_same(tmp_path):
    model, search = hard_model(), SEARCHES["beams"]
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    found, wanted = (arrays(x.generate(SOURCE, search)) for x in (again, model))
    np.testing.assert_array_equal(found.tokens, wanted.tokens)
    np.testing.assert_array_equal(found.weights, wanted.weights)
    posteriors = again.readout.align(again, SOURCE, found.tokens[:, 0])
    want = model.readout.align(model, SOURCE, found.tokens[:, 0])
    assert_close(posteriors, want, 0)


def in_litert(path, ids):
    from ai_edge_litert.interpreter import Interpreter

    run = Interpreter(str(path)).get_signature_runner("translate_ids")
    found = run(source_ids=ids)
    return found["tokens"], found["scores"]


def in_onnx(path, ids):
    import onnxruntime

    names = ["tokens", "scores"]
    return onnxruntime.InferenceSession(path).run(names, {"source_ids": ids})


CASES = [
    pytest.param("litert", "monotonic", "beams", marks=pytest.mark.thorough),
    pytest.param("onnx", "monotonic", "greedy", marks=pytest.mark.thorough),
    pytest.param("litert", "order 0", "greedy", marks=pytest.mark.thorough),
    pytest.param("onnx", "order 1", "beams", marks=pytest.mark.thorough),
]


@pytest.mark.graphs
@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize(("format", "kind", "search"), CASES)
def test_runtimes_of_others_find_the_same_ids(format, kind, search, tmp_path):
    translator = hard_translator(SEARCHES[search], *KINDS[kind])
    suffix, run = {"litert": ("tflite", in_litert), "onnx": ("onnx", in_onnx)}[
        format
    ]
    path = tmp_path / f"model.{suffix}"
    translator.export(path, format=format)
    for texts in (DIGITS, ["31"], ["", "905"]):  # padded, alone, without a word
        ids = translator.source_tokenizer.tokenize(texts).numpy()
        tokens, scores = run(path, ids)
        wanted = translator.model.generate(ids, SEARCHES[search])
        np.testing.assert_array_equal(tokens, wanted.tokens)
        np.testing.assert_allclose(scores, wanted.scores, atol=1e-4)
