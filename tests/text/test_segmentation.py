"""segmentation: pieces that are drawn, by seed, as `sentencepiece` does."""

import itertools
from collections import Counter
from random import Random

import numpy as np
import pytest
import sentencepiece
from foreign import KINDS
from foreign import TEXT
from foreign import foreign_model
from hostile import hostile_texts
from sentencepiece import sentencepiece_model_pb2

from keras_attention.text import SentencePieceTokenizer
from keras_attention.text.segmentation import Lattice
from keras_attention.text.segmentation import MergeDropout
from keras_attention.text.segmentation import load_sampler

SCORES = {"a": -2.0, "b": -2.5, "ab": -1.0, "ba": -3.0, "aba": -1.5, "bb": -4.0}
MERGES = {"ab": -1.0, "ba": -2.0, "aba": -3.0, "bb": -4.0, "abab": -5.0}
COUNT = 20_000
SHARP = {"BPE": (1e-9, 0), "UNIGRAM": (1e5, 0)}  # rate and seed
DRAWS = {  # the same in every process, and for every version of its packages
    "BPE": [[3, 4, 3, 4, 5, 4], [5, 3, 4]],
    "UNIGRAM": [[5, 7, 8], [5, 5]],
}


def model(kind, scores=SCORES, **types):
    """A model of given pieces, which have the ids from 3 on."""
    proto = sentencepiece_model_pb2.ModelProto()
    forms = proto.SentencePiece
    for name, form in (("<unk>", forms.UNKNOWN), ("<s>", 3), ("</s>", 3)):
        proto.pieces.add(piece=name, type=form, score=0.0)
    for piece, score in scores.items():
        form = getattr(forms, types.get(piece, "NORMAL"))
        proto.pieces.add(piece=piece, score=score, type=form)
    proto.trainer_spec.model_type = getattr(proto.trainer_spec, kind)
    proto.normalizer_spec.name = "identity"
    proto.normalizer_spec.add_dummy_prefix = False
    proto.normalizer_spec.remove_extra_whitespaces = False
    return proto.SerializeToString()


def all_cuts(word):
    """All ways to cut a word."""
    for ends in itertools.product([0, 1], repeat=len(word) - 1):
        cuts = [0, *(i + 1 for i, cut in enumerate(ends) if cut), len(word)]
        yield tuple(word[i:j] for i, j in itertools.pairwise(cuts))


def merge_probabilities(pieces, rate, left_out=frozenset()):
    """Dropout of merges by its definition, for a list of (place, piece)."""
    pairs = [
        (-MERGES[one + two], place, at, one + two)
        for (place, one), (at, two) in itertools.pairwise(pieces)
        if one + two in MERGES
    ]
    pairs = [pair for pair in pairs if pair not in left_out]
    if not pairs:
        return Counter({tuple(piece for _, piece in pieces): 1.0})
    best = min(pairs)
    _, place, at, merged = best
    joined = [
        (i, merged if i == place else piece) for i, piece in pieces if i != at
    ]
    found = Counter()
    without = merge_probabilities(pieces, rate, left_out | {best})
    merged = merge_probabilities(joined, rate, left_out)
    for share, then in ((rate, without), (1 - rate, merged)):
        for cut, probability in then.items():
            found[cut] += share * probability
    return found


def assert_frequencies(kind, word, rate, probabilities):
    random = Random(1)
    draws = (kind.sample(word, rate, random) for _ in range(COUNT))
    draws = Counter(map(tuple, draws))
    assert {*draws} <= {*probabilities}
    assert sum(probabilities.values()) == pytest.approx(1)
    for cut, probability in probabilities.items():
        deviation = np.sqrt(probability * (1 - probability) / COUNT)
        assert abs(draws[cut] / COUNT - probability) < 4 * deviation + 1e-9


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("word", ["ab", "ababb", "aabab"])
def test_merges_are_left_out_as_often(word, rate):
    wanted = merge_probabilities([*enumerate(word)], rate)
    assert_frequencies(MergeDropout(MERGES), word, rate, wanted)


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("word", ["ab", "ababb", "xabx"])
def test_segmentations_are_as_likely_as_their_pieces(word, rate):
    pieces = SCORES | {"bx": -3.0}
    scores = pieces | {"x": min(pieces.values()) - 10}  # has none of its own
    cuts = [cut for cut in all_cuts(word) if {*cut} <= {*scores}]
    weights = np.exp([rate * sum(map(scores.get, cut)) for cut in cuts])
    wanted = dict(zip(cuts, weights / weights.sum(), strict=True))
    assert_frequencies(Lattice(pieces), word, rate, wanted)


@pytest.mark.parametrize("kind", ["BPE", "UNIGRAM"])
def test_a_seed_draws_the_same_anywhere(kind):
    sampler = load_sampler(model(kind))
    assert [*sampler.sample(["abababb", "abab"], 0.4, 7)] == DRAWS[kind]
    assert [*sampler.sample(["abababb", "abab"], 0.4, 8)] != DRAWS[kind]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_draws_are_those_of_sentencepiece(kind):
    trained = foreign_model(model_type=kind, vocab_size=60)
    theirs = sentencepiece.SentencePieceProcessor(model_proto=trained)
    for text in ("Hund", "Schnee.", "ein Hund"):
        many = [text] * COUNT
        options = {"enable_sampling": True, "alpha": 0.2, "nbest_size": -1}
        ours = load_sampler(trained).sample(many, 0.2, 3)
        both = ours, theirs.encode(many, **options)
        counts = [Counter(map(tuple, draws)) for draws in both]
        cuts = [cut for cut in counts[0] | counts[1] if counts[0][cut] > 20]
        both = np.array([[count[cut] for cut in cuts] for count in counts])
        square = np.sum((both[0] - both[1]) ** 2 / both.sum(0))
        freedom = len(cuts)
        assert square < freedom + 8 * np.sqrt(2 * freedom)


@pytest.mark.parametrize("name", [n for n in KINDS if n != "char"])
def test_the_likeliest_is_that_of_sentencepiece(name):
    trained = foreign_model(**KINDS[name])
    theirs = sentencepiece.SentencePieceProcessor(model_proto=trained)
    texts = [t.decode(errors="replace") for t in hostile_texts(650, TEXT, 3)]
    texts = [text.replace("\0", "") for text in texts]
    sharp = SHARP["BPE" if name == "bpe" else "UNIGRAM"]
    drawn = load_sampler(trained).sample(texts, *sharp)
    for text, found in zip(texts, drawn, strict=True):
        assert found == theirs.encode(text), text


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_symbols_of_the_user_stay_whole(kind):
    symbols = {"user_defined_symbols": ["<2de>", "<2"]}
    tokenizer = SentencePieceTokenizer(
        foreign_model(model_type=kind, **symbols)
    )
    symbol = 4 + tokenizer.vocabulary.index("<2de>")
    for row in tokenizer.sample(["Hund<2de>Hund"] * 50, 0.9, seed=0):
        assert symbol in row
    assert len({len(x) for x in tokenizer.sample(["Hund"] * 50, 0.2, 0)}) > 1


@pytest.mark.parametrize("kind", ["BPE", "UNIGRAM"])
def test_unused_pieces_are_not_drawn(kind):
    unused = model(kind, ab="UNUSED", ba="UNUSED")
    theirs = sentencepiece.SentencePieceProcessor(model_proto=unused)
    ab = theirs.piece_to_id("ab")
    sampler = load_sampler(unused)
    rows = [*sampler.sample(["abaab"] * 99, 0.2, 0)]
    assert not any(ab in row for row in rows)
    assert any(theirs.piece_to_id("aba") in row for row in rows)
    (row,) = sampler.sample(["abaab"], *SHARP[kind])
    assert row == theirs.encode("abaab")


def test_a_run_without_pieces_is_one_id():
    for kind in ("BPE", "UNIGRAM"):
        (row,) = load_sampler(model(kind)).sample(["aéèaé"], 1.0, 0)
        assert row == [3, 0, 3, 0]


@pytest.mark.parametrize("kind", ["BPE", "UNIGRAM"])
@pytest.mark.parametrize("piece", ["\u2581b", "a\u2581", "\u2581", "a\u2581b"])
def test_a_space_may_be_anywhere_in_a_piece(kind, piece):
    trained = model(kind, {"a": -1.0, "\u2581": -9.0, "b": -1.0, piece: -2.0})
    theirs = sentencepiece.SentencePieceProcessor(model_proto=trained)
    for text in ("a b", " a b ", "ab  ba"):
        assert [*load_sampler(trained).sample([text], *SHARP[kind])] == [
            theirs.encode(text)
        ]


def test_long_texts_are_drawn():
    texts = ["ab" * 4000 + "c"]
    for kind in ("bpe", "unigram"):
        tokenizer = SentencePieceTokenizer.train(texts, 300, model_type=kind)
        (row,) = tokenizer.sample(texts, 0.5, seed=1)
        (text,) = tokenizer.detokenize(row[None])
        assert text == texts[0]
