"""handler: any sentence has an answer, and those beside it have theirs."""

from types import SimpleNamespace

import pytest
from shell import saved

from keras_attention import Translator

pytest.importorskip("apache_beam", reason="the extra `beam`")
handler = pytest.importorskip("keras_attention.beam.translate")
Failed, Translated = handler.Failed, handler.Translated

LINES = ["0", "21", "", "4444", "x", "310"]


@pytest.fixture(scope="module")
def translator():
    return Translator.load(saved())


class Moody:
    """Turns sentences round, and fails whenever it sees a bad one."""

    def __init__(self, bad):
        self.bad, self.calls = bad, 0

    def __call__(self, sentences, **options):
        self.calls += 1
        if self.bad & {*sentences}:
            raise MemoryError("too long")
        texts = [sentence[::-1] for sentence in sentences]
        return SimpleNamespace(texts=texts, scores=[0.5] * len(texts))


@pytest.mark.parametrize("bad", [set(), {"3"}, {"0", "99"}, {"7", "8", "9"}])
def test_only_what_is_at_fault_fails(bad):
    lines = [str(n) for n in range(100)]
    moody = Moody(bad)
    found = handler.translate_all(moody, lines, 8)
    for line, result in zip(lines, found, strict=True):
        if line in bad:
            assert result == Failed(line, "MemoryError: too long")
        else:
            assert result == Translated(line, [line[::-1]], [0.5])
    assert moody.calls <= 1 + 2 * 7 * len(bad)


def test_results_are_those_of_the_translator(translator):
    wanted = translator(LINES, return_scores=True)
    found = handler.translate_all(translator, LINES, 2)
    assert [x.input for x in found] == LINES
    assert [x.texts for x in found] == [[text] for text in wanted.texts]
    for result, score in zip(found, wanted.scores, strict=True):
        assert result.scores == pytest.approx([score], rel=1e-5)


def test_what_is_no_text_fails_alone(translator):
    runs = handler.TranslatorHandler("nowhere", 4, 2)
    batch = ["1", None, ("key", "2"), ("key", 3), ("a", "b", "c")]
    found = [*runs.run_inference(batch, translator)]
    kinds = [Translated, Failed, tuple, tuple, Failed]
    assert [type(x) for x in found] == kinds
    assert found[2][0] == found[3][0] == "key"
    assert isinstance(found[2][1], Translated)
    assert "None" in found[1].error
    assert "ValueError" in found[3][1].error
    assert found[4].input == ("a", "b", "c")
