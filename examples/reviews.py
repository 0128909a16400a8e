"""Short film reviews by a grammar, for `classify_text.py`.

Every review has one verdict: an adjective, which in one of three a negator
turns round. Its clause decides, and where that stands is known. All else is
beside the point, even where it is said in the same way: "the story was not
dull" decides, "the hall was not warm" does not.

For every adjective one negator is held out: "hardly dull" is never seen in
training, though "hardly" and "dull" are, apart. All verdicts for testing are
such pairs, so who overlooks negators is always wrong.
"""

import random
from typing import NamedTuple

ADJECTIVES = {
    "positive": "good great wonderful funny clever moving brilliant charming "
    "fresh superb honest witty lovely elegant exciting",
    "negative": "bad awful boring dull clumsy silly dreadful weak stale "
    "terrible shallow noisy tedious pompous lame",
}
NEGATORS = ["not", "never", "hardly", "far from", "anything but", "by no means"]
NEGATED = 1 / 3  # of the verdicts to learn
STRESSES = ["", "", "really", "simply", "quite"]
VERDICTS = ["the {part} was {}", "it was {}", "i found the {part} {}"]
ASIDES = [
    "the {thing} was {}",
    "it was {}",
    "i found the {thing} {}",
    "we saw it on a {day}",
    "it was made in {place}",
    "it runs for {number} hours",
    "there were {number} of us",
    "it is about a {person} in {place}",
]
FILLERS = {
    "part": "film plot music acting end dialogue camera story",
    "thing": "hall screen seat lobby ticket beer city car",
    "neutral": "warm cold big small dark bright new old empty full",
    "person": "teacher sister lawyer sailor neighbour dentist farmer singer",
    "place": "paris seoul texas lagos vienna lima norway town",
    "day": "monday tuesday wednesday thursday friday saturday sunday",
    "number": "two three four five six seven",
}


class Review(NamedTuple):
    """A text and what it says.

    Attributes:
        words: Its words and signs.
        label: `"positive"` or `"negative"`, or of whatever classes it is.
        deciding: Positions of the clause that decides, if they are known.
    """

    words: list[str]
    label: str
    deciding: tuple[int, ...] = ()


def pairs(held_out: bool) -> list[tuple[str, str, str]]:
    """List negators (`""` for none), adjectives, and what they say together.

    Held out is one negator for every adjective, each about as often.

    Args:
        held_out: Whether to list the pairs for testing, or those to learn.
    """
    turned = {"positive": "negative", "negative": "positive"}
    found = []
    for label, adjectives in ADJECTIVES.items():
        for n, adjective in enumerate(adjectives.split()):
            for negator in NEGATORS:
                if (negator == NEGATORS[n % len(NEGATORS)]) == held_out:
                    found.append((negator, adjective, turned[label]))
            if not held_out:
                found.append(("", adjective, label))
    return found


def make_reviews(count: int, held_out: bool, seed: int) -> list[Review]:
    """Write reviews.

    Args:
        count: How many.
        held_out: Whether their verdicts are the pairs for testing, or those
            to learn.
        seed: The same seed writes the same.
    """
    draw = random.Random(seed)
    kinds = {}  # pairs by whether they are negated, and by their class
    for pair in pairs(held_out):
        kinds.setdefault((pair[0] != "", pair[2]), []).append(pair)
    found = []
    for _ in range(count):
        negated = held_out or draw.random() < NEGATED
        label = draw.choice(list(ADJECTIVES))
        verdict = draw.choice(kinds[negated, label])
        found.append(_review(draw, *verdict))
    return found


def _review(draw, negator, adjective, label):
    turn = negator or draw.choice(STRESSES)
    verdict = _fill(draw, draw.choice(VERDICTS), [*turn.split(), adjective])
    clauses = [_aside(draw, aside) for aside in draw.sample(ASIDES, 3)]
    place = draw.randint(0, len(clauses))
    clauses.insert(place, verdict)
    start = sum(len(clause) + 1 for clause in clauses[:place])
    words = " , ".join(" ".join(clause) for clause in clauses).split()
    places = range(start, start + len(verdict))
    return Review([*words, "."], label, tuple(places))


def _aside(draw, clause):
    """Write what says nothing, sometimes negated like a verdict."""
    about = draw.choice(FILLERS["neutral"].split())
    negator = draw.choice(NEGATORS) if draw.random() < NEGATED else ""
    return _fill(draw, clause, [*negator.split(), about])


def _fill(draw, clause, said=()):
    """Put words drawn for `{person}` and the like, and `said` for `{}`."""
    words = []
    for word in clause.split():
        if word == "{}":
            words.extend(said)
        elif word[0] == "{":
            words.append(draw.choice(FILLERS[word[1:-1]].split()))
        else:
            words.append(word)
    return words
