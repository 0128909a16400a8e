"""The LiteRT file from text to text: what it says, and what is refused."""

import numpy as np
import pytest
from hostile import hostile_texts
from seq2seqs import sure_model

from keras_attention import BeamSearch
from keras_attention import CharacterTokenizer
from keras_attention import Translator
from keras_attention import WordPieceTokenizer
from keras_attention.export import litert
from keras_attention.export import run_litert
from keras_attention.export.agreement import SHAPES
from keras_attention.export.formats import OUTPUTS
from keras_attention.export.formats import TEXT_OUTPUTS
from keras_attention.export.litert import export_litert_text
from keras_attention.files import check_seal

pytestmark = pytest.mark.slow


def is_plain(text):
    """Whether a text is Unicode, and short enough for equal scores."""
    valid = text == text.decode("utf-8", errors="replace").encode()
    return valid and len(text) < 200


WORDS = {
    "two": "zwei",
    "dogs": "Hunde",
    "play": "spielen",
    "in": "im",
    "snow": "Schnee",
    "seven": "sieben",
}
SEARCH = BeamSearch(2, n_best=2, max_length=8, length_penalty=0.6)
TEXTS = [
    ["two dogs play"],
    ["", "  snow  ", "seven dogs in snow play in snow two"],
    ["Unheard 雪 of"],
    [x.decode() for x in hostile_texts(39, ["two dogs"], 4) if is_plain(x)],
]


@pytest.fixture(scope="module")
def parts():
    tokenizers = [
        WordPieceTokenizer.train([" ".join(side)] * 5, 40)
        for side in (WORDS, WORDS.values())
    ]
    return sure_model(*(x.vocabulary_size for x in tokenizers)), *tokenizers


@pytest.fixture(scope="module")
def file(parts, tmp_path_factory):
    path = tmp_path_factory.mktemp("litert_text") / "model.tflite"
    more = "token_scores", "attention"
    export_litert_text(path, *parts, SEARCH, outputs=(*OUTPUTS, *more))
    return path


@pytest.fixture(scope="module")
def answers(file):
    batches = [
        {"text": np.array([text.encode() for text in texts], object)}
        for texts in TEXTS
    ]
    return run_litert.run(str(file), "translate", batches, litert.OPERATIONS)


def test_it_says_what_the_translator_says(parts, answers):
    translator = Translator(*parts, SEARCH)
    for texts, found in zip(TEXTS, answers, strict=True):
        wanted = translator(texts, return_scores=True)
        given = [x.decode() for x in found["translations"].ravel()]
        assert given == [*np.ravel(wanted.texts)]
        scores = np.reshape(wanted.scores, found["scores"].shape)
        np.testing.assert_allclose(found["scores"], scores, atol=1e-4)


def as_text(tokens):
    return [token.decode() for token in tokens if token]


def test_it_gives_what_is_asked_for(parts, answers):
    translator = Translator(*parts, SEARCH)
    for texts, found in zip(TEXTS[:2], answers, strict=False):
        asked = {"return_attention_scores": True, "return_token_scores": True}
        wanted = translator(texts, **asked)
        assert found.keys() == {*TEXT_OUTPUTS}
        for i, (source, targets) in enumerate(
            zip(wanted.source_tokens, wanted.target_tokens, strict=True)
        ):
            assert as_text(found["source_tokens"][i]) == source
            for n, target in enumerate(targets):
                count = len(target)
                assert as_text(found["target_tokens"][i, n]) == target
                np.testing.assert_allclose(
                    found["token_scores"][i, n, :count],
                    wanted.token_scores[i][n],
                    atol=1e-4,
                )
                np.testing.assert_allclose(
                    found["attention"][i, n, :count, : len(source)],
                    wanted.attention[i][n],
                    atol=1e-4,
                )


def test_other_texts_have_other_translations(answers):
    found = np.concatenate([x["translations"][:, 0] for x in answers])
    assert len(np.unique(found)) > 2
    assert all(found)


def test_no_operation_of_tensorflow_is_in_the_file(file):
    assert [*file.parent.iterdir()] == [file]
    check_seal(file)
    content = file.read_bytes()
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
            export_litert_text(tmp_path / "x.tflite", model, *pair, SEARCH)


def test_what_runs_wrong_leaves_the_old_file(
    parts, answers, tmp_path, monkeypatch
):
    path = tmp_path / "x.tflite"
    path.write_text("old")
    answers = answers[:1] * (len(SHAPES) + 1)  # and an empty text
    monkeypatch.setattr(litert, "convert_to_litert", lambda *_: b"new")
    monkeypatch.setattr(litert, "run_litert", lambda *_: answers)
    with pytest.raises(RuntimeError, match="LiteRT file returns other"):
        export_litert_text(path, *parts, SEARCH)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
