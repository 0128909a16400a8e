"""A translator with more entries, and the model that goes with it."""

import numpy as np
import pytest
from samples import to_numpy
from seq2seqs import built_model
from seq2seqs import small_model
from tiers import SLOW
from tiers import some

from keras_attention import CharacterTokenizer
from keras_attention import GreedySearch
from keras_attention import Shortlist
from keras_attention import SymbolTokenizer
from keras_attention import Translator

pytestmark = pytest.mark.usefixtures("without_graphs")
LETTERS, SOUNDS = CharacterTokenizer("abcde"), SymbolTokenizer([*"vwxyz"])
SEARCH = GreedySearch(max_length=4, forbidden_ids=[0, 1, 2])


def make(**options):
    return Translator(
        small_model(), LETTERS, SOUNDS, SEARCH, max_source_length=9, **options
    )


def test_texts_say_what_is_new():
    translator = make()
    larger = translator.extended((["abf", "gf"], ["u v"]))
    assert larger.source_tokenizer.vocabulary == [*"abcdefg"]
    assert larger.target_tokenizer.vocabulary == [*"vwxyzu"]
    assert larger.max_source_length == 9
    assert larger.search is SEARCH
    old, new = translator.model, larger.model
    sizes = new.source_vocabulary_size, new.target_vocabulary_size
    assert sizes == (11, 10)
    old, new = (to_numpy(x.source_embedding.embeddings) for x in (old, new))
    np.testing.assert_array_equal(new[:9], old)
    assert translator.source_tokenizer is LETTERS
    assert len(larger(["fg", "ab"])) == 2
    given, known = ["ab", "cde"], ["v w", "x"]
    least = translator.score(given, known).scores
    assert np.all(np.less(larger.score(given, known).scores, least))
    same = translator.extended((["abc"], None))
    assert same.source_tokenizer is LETTERS
    assert same.target_tokenizer is SOUNDS
    assert same.model is not translator.model
    np.testing.assert_allclose(same.score(given, known).scores, least, 1e-5)


def test_a_tokenizer_may_be_given_that_has_the_old_entries_first():
    given = LETTERS.extended(["xyz"])
    larger = make().extended((given, None))
    assert larger.source_tokenizer is given
    assert larger.model.source_vocabulary_size == 12
    for other in (
        CharacterTokenizer("zabcde"),
        CharacterTokenizer("abc"),
        SymbolTokenizer([*"abcdef"]),
    ):
        with pytest.raises(ValueError, match="A new source tokenizer must"):
            make().extended((other, None))


@pytest.mark.parametrize(
    "pair",
    some(
        [
            ((["abf"], ["fga"]),),
            ((None, LETTERS.extended(["fg"])),),
            ((["abf", "g"], None),),
            ((None, ["fg"]),),
        ],
        2,
        SLOW,
    ),
)
def test_a_model_that_copies_has_the_entries_of_both_sides(pair):
    model = small_model(copying=True)
    old = Translator(model, LETTERS, LETTERS, SEARCH)
    larger = old.extended(pair)
    for tokenizer in (larger.source_tokenizer, larger.target_tokenizer):
        assert {*tokenizer.vocabulary[5:]} == {*"fg"}
        assert tokenizer.vocabulary[:5] == [*"abcde"]
    assert larger.model.source_vocabulary_size == 11
    assert larger.model.target_vocabulary_size == 11
    assert len(larger(["fgz", "ab"])) == 2
    given = ["ab", "cde"], ["a b", "cd"]
    np.testing.assert_array_less(
        larger.score(*given).scores, old.score(*given).scores
    )
    one = LETTERS.extended(["f"])
    with pytest.raises(ValueError, match="needs one vocabulary"):
        old.extended((one, LETTERS.extended(["g"])))


def test_what_cannot_be_extended_is_told():
    shortlist = Shortlist([[4]] * 9, [5])
    with pytest.raises(ValueError, match="needs a translator without a `shor"):
        make(shortlist=shortlist).extended((["f"], None))
    with pytest.raises(ValueError, match="`source texts` must be a list"):
        make().extended(("f", None))
    for given in ("ab", ["a", "b", "c"], LETTERS):
        with pytest.raises(ValueError, match="must be a pair, for source"):
            make().extended(given)


def test_features_have_no_entries():
    model = built_model(features=3)
    translator = Translator(model, None, SOUNDS, SEARCH)
    found = translator.extended((None, ["u"]))
    assert found.source_tokenizer is None
    assert found.model.target_vocabulary_size == 10
    with pytest.raises(ValueError, match="source can only be extended if"):
        translator.extended((["a"], None))
