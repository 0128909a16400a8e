import random

import numpy as np
import pytest
from tokenizers import strings

from keras_attention.text import WordTokenizer

NOT_AS_WRITTEN = {  # before and after
    "Ein Mann , der lacht .": "Ein Mann, der lacht.",
    "  viele \t Räume\n": "viele Räume",
    "they 're here": "they're here",
    "« mot »": "«mot»",
    "l\u2019homme n\u2019est pas l\u00e0": "l'homme n'est pas là",
    "2 + 2=4": "2 + 2 = 4",
    "AT&T & Co": "AT&T & Co",
    "1990 \N{EN DASH} 2000": "1990 \N{EN DASH} 2000",
}
AS_WRITTEN = [
    "Ein Mann, der lacht.",
    "Ein Hund - nass - springt; ein Kind (klein) schaut zu: wohin?",
    'Ein Schild mit "STOP" und ein "Halt"-Schild!',
    "Er sagt: „Komm her!“ und geht.",
    "Obst- und Gemüseläden, Teller und -tassen",
    "Geht's noch? Sie spielt bei McDonald's.",
    "A well-known man's t-shirt isn't 3.5 or 1,000 dollars: $5.",
    "He said, “I don't know”, didn't he?",
    "the boys' cap; 'the STOP!' sign; rock 'n' roll",
    "It's 10:30 a.m. in the U.S. [sic] #7 @home",
    "either/or and 50%",
    "L'homme qu'il a vu n'est pas là aujourd'hui, t-il.",
    'Il dit : "Bienvenue !" ; quoi ? 5 % des gens',
    "d'une salle d'eau, jusqu'à l'arrière-plan",
    "",
]


def train(text, **options):
    return WordTokenizer.train(["a", *text], 10**6, **options)


def tokens(text):
    tokenizer = train([text])
    named = tokenizer.tokens(tokenizer.tokenize([text])[0])
    return named.tolist()[1:-1]


def back(tokenizer, text):
    ids = tokenizer.tokenize(text)
    return tokenizer.detokenize(ids).tolist()


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("l'homme D'Artagnan", "l'|homme|D'|Artagnan"),
        ("qu'il n'a aujourd'hui", "qu'|il|n'|a|aujourd'hui"),
        ("man's it's don't they'll", "man|'s|it|'s|don't|they|'ll"),
        ("the boys' 'STOP'", "the|boys|'|'STOP|'"),
        ("t-shirt well-known -tassen", "t-shirt|well-known|-tassen"),
        ("3.5 1,000 10:30 3.", "3.5|1,000|10:30|3|."),
        ("U.S. z.B. Ende...", "U.S.|z.B.|Ende|.|.|."),
        ("Quoi ? Non!", "Quoi| ?|Non|!"),
        ("two--dashes - one", "two-|-dashes|-|one"),
        ("👨‍👩‍👧🎉", "👨|\u200d|👩|\u200d|👧|🎉"),
        ("cafe\u0301s, Straße_7", "cafés|,|Straße_7"),
    ],
)
def test_words_and_signs_are_split(text, want):
    assert tokens(text) == want.split("|")


def test_what_people_write_comes_back():
    assert back(train(AS_WRITTEN), AS_WRITTEN) == AS_WRITTEN


@pytest.mark.parametrize(("text", "want"), NOT_AS_WRITTEN.items())
def test_other_writing_comes_back_by_the_rules(text, want):
    assert back(train([text]), [text]) == [want]


@pytest.mark.parametrize(
    "entry", ["a b", " a", "? ", " ", "\n", "a\u00a0b", "\u3000", "a\x85"]
)
def test_what_has_white_space_is_no_word(entry):
    with pytest.raises(ValueError, match=r"WordTokenizer\.train") as caught:
        WordTokenizer(["c", entry])
    assert repr(entry) in str(caught.value)


def test_a_sign_may_have_its_space():
    tokenizer = WordTokenizer(["quoi", " ?"])
    assert tokenizer.tokenize(["quoi ?"]).tolist() == [[2, 4, 5, 3]]


def test_unknown_words_are_shown():
    tokenizer = WordTokenizer(["Ein", "."])
    ids = tokenizer.tokenize(["Ein Stuhl."])
    assert ids.tolist() == [[2, 4, 1, 5, 3]]
    assert back(tokenizer, ["Ein Stuhl."]) == ["Ein <unk>."]


def test_a_replaced_sign_has_one_space_before_it():
    tokenizer = WordTokenizer(["quoi"])
    ids = tokenizer.tokenize(["quoi ?"])
    unknown = [["", "", *tokenizer.surfaces(["quoi ?"])[0][1:], ""]]
    assert unknown[0][2] == " ?"
    assert strings(tokenizer.detokenize(ids, unknown)) == ["quoi ?"]


def test_a_shown_unknown_word_is_unknown_again():
    tokenizer = train(["l'homme man's"])
    text = ["l'<unk> <unk>'s <unk>"]
    assert back(tokenizer, text) == text


@pytest.mark.parametrize(
    ("text", "known"),
    [("Obst-", "Obst"), ("-tassen", "tassen"), ("'em", "em"), ("a !", "!")],
)
def test_the_edges_of_unknown_words_are_dropped(text, known):
    tokenizer = WordTokenizer(["a", known])
    assert tokenizer.tokenize([text])[0, -2] == 5


def test_lower_case_applies_to_all_rules():
    text = ["L'HOMME QU'IL A VU", "IT'S"]
    want = ["l'homme qu'il a vu", "it's"]
    assert back(train(text, lowercase=True), text) == want
    assert back(train(text), text) == text


PIECES = "l d s qu a n Mann U.S. a.b. 3 10 ß é fi ﬁ ½ 漢 ש 👍 <unk> < >".split()
PIECES += "' ' ' 's 'll n't \u2019 \u2018 - - . , : ; ! ? % / & # _ =".split()
PIECES += [*'"„“”«»()', " ", " ", " ", " ?", " :", "\n", "\u00a0", "\u0301"]
PIECES += ["\u200d", "\u0338", "İ", "\u00b4", "…", "\N{EN DASH}", "\x00"]


@pytest.mark.parametrize("lowercase", [False, True])
def test_known_words_keep_their_ids_there_and_back(lowercase):
    draw = random.Random(0)
    text = [
        "".join(draw.choices(PIECES, k=draw.randint(0, 9))) for _ in range(3000)
    ]
    text += AS_WRITTEN + list(NOT_AS_WRITTEN)
    tokenizer = train(text, lowercase=lowercase)
    ids = tokenizer.tokenize(text)
    again = tokenizer.tokenize(tokenizer.detokenize(ids))
    np.testing.assert_array_equal(again, ids)
