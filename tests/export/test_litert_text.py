"""The LiteRT file from text to text: what it says, and what is refused."""

import keras
import numpy as np
import pytest
from ready import GRAPH

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import BeamSearch
from keras_attention import CharacterTokenizer
from keras_attention import GreedySearch
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import WordPieceTokenizer

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow]

if keras.backend.backend() == "tensorflow":
    from keras_attention.export import TranslationGraph
    from keras_attention.export import litert_text
    from keras_attention.export.litert import run_litert
    from keras_attention.export.litert_text import export_litert_text
    from keras_attention.files import check_seal

WORDS = {
    "two": "zwei",
    "dogs": "Hunde",
    "play": "spielen",
    "in": "im",
    "snow": "Schnee",
    "seven": "sieben",
}
GREEDY = GreedySearch(max_length=20)
BEAM = BeamSearch(3, n_best=2, max_length=20, length_penalty=0.6)
TEXTS = [
    ["two dogs play"],
    ["", "  snow  ", "seven dogs in snow play in snow two"],
    ["Unheard 雪 of"],
]


@pytest.fixture(scope="module")
def parts():
    """Train a moment to translate words, each by itself."""
    keras.utils.set_random_seed(0)
    draw = np.random.default_rng(0)
    pairs = [
        [*zip(*(list(WORDS.items())[i] for i in row), strict=True)]
        for row in draw.integers(0, 6, (1000, 3))
    ]
    sides = [
        [" ".join(words) for words in side] for side in zip(*pairs, strict=True)
    ]
    tokenizers = [WordPieceTokenizer.train(side, 40) for side in sides]
    source, target = (
        tokenizer.tokenize(side).numpy()
        for tokenizer, side in zip(tokenizers, sides, strict=True)
    )
    cell = AttentionDecoderCell(keras.layers.GRUCell(32), BahdanauAttention(16))
    model = Seq2Seq(
        source_vocabulary_size=tokenizers[0].vocabulary_size,
        target_vocabulary_size=tokenizers[1].vocabulary_size,
        embedding_dim=16,
        encoder=RecurrentEncoder(16, cell="gru"),
        decoder=AttentionDecoder(cell),
        bridge=StateBridge(),
    )
    adam = keras.optimizers.Adam(0.01)
    model.compile(adam, loss=SequenceCrossentropy(), **GRAPH)
    model.fit((source, target[:, :-1]), target[:, 1:], epochs=4, verbose=0)
    return model, *tokenizers


@pytest.fixture(scope="module")
def files(parts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("litert_text")
    export_litert_text(folder / "greedy.tflite", *parts, GREEDY)
    export_litert_text(folder / "beam.tflite", *parts, BEAM, "float16")
    return folder


def run(file):
    batches = [
        {"text": np.array([text.encode() for text in texts], object)}
        for texts in TEXTS
    ]
    return run_litert(file, "translate", batches, litert_text.OPERATIONS)


@pytest.mark.parametrize(
    ("name", "search"), [("greedy", GREEDY), ("beam", BEAM)]
)
def test_it_says_what_the_translator_says(parts, files, name, search):
    graph = TranslationGraph(*parts, search)
    for texts, found in zip(TEXTS, run(files / f"{name}.tflite"), strict=True):
        answer = graph.translate(np.array(texts))
        wanted = {key: x.numpy() for key, x in answer.items()}
        given = found["translations"]
        assert given.shape == wanted["translations"].shape
        assert given[:, 0].tolist() == wanted["translations"][:, 0].tolist()
        atol = 1e-4 if name == "greedy" else 1e-2
        np.testing.assert_allclose(
            found["scores"][:, 0], wanted["scores"][:, 0], atol=atol
        )


def test_it_has_learned_something(files):
    first = run(files / "greedy.tflite")[0]["translations"]
    assert first.tolist() == [[b"zwei Hunde spielen"]]


def test_no_operation_of_tensorflow_is_in_the_files(files):
    names = {"greedy.tflite", "beam.tflite"}
    assert {p.name for p in files.iterdir()} == names
    for name in names:
        check_seal(files / name)
        content = (files / name).read_bytes()
        assert b"Flex" not in content
        assert b"FastWordpieceTokenize" in content


def test_other_tokenizers_are_named(parts, tmp_path):
    model, source, target = parts
    other = CharacterTokenizer("abc", "identity")
    for pair, side in [
        ((other, target), "source"),
        ((source, other), "target"),
    ]:
        message = rf"{side}_tokenizer.*WordPiece.*Received: CharacterTokenizer"
        with pytest.raises(ValueError, match=message):
            export_litert_text(tmp_path / "x.tflite", model, *pair, GREEDY)


def test_what_runs_wrong_leaves_the_old_file(
    parts, files, tmp_path, monkeypatch
):
    path = tmp_path / "x.tflite"
    path.write_text("old")
    answers = run(files / "greedy.tflite")[:1] * 4
    monkeypatch.setattr(litert_text, "convert_to_litert", lambda *_: b"new")
    monkeypatch.setattr(litert_text, "run_litert", lambda *_: answers)
    with pytest.raises(RuntimeError, match="LiteRT file gives other"):
        export_litert_text(path, *parts, GREEDY)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
