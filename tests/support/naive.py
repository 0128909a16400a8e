"""Searches written straight from their definitions: one row, plain Python."""

import math
from dataclasses import dataclass

import numpy as np
from tables import node_of


@dataclass
class Rules:
    """What a search may be asked for, with its defaults."""

    max_length: int = 4
    min_length: int = 1
    end_id: int = 3
    no_repeat_ngram_size: int = 0
    forbidden_ids: tuple = ()
    length_penalty: float = 0.0
    coverage_penalty: float = 0.0

    @property
    def common(self):
        """The arguments of any search."""
        own = ("length_penalty", "coverage_penalty")
        return {k: v for k, v in vars(self).items() if k not in own}


@dataclass
class Text:
    """A hypothesis: its tokens, their log p, and what they attended."""

    tokens: list
    gains: list
    attended: list
    score: float = 0.0

    @property
    def total(self):
        return sum(self.gains)


class Row:
    """The tables of one row, and all that can be searched in them."""

    def __init__(self, log_probs, weights, rules, prefix=(), mask=None):
        self.log_probs, self.weights = log_probs, weights
        self.rules, self.prefix = rules, [x for x in prefix if x]
        self.mask = np.ones(weights.shape[-1], bool) if mask is None else mask

    def ended(self, text):
        full = len(text.tokens) == self.rules.max_length
        return full or self.rules.end_id in text.tokens

    def may_come(self, tokens, token):
        if len(tokens) < len(self.prefix):
            return token == self.prefix[len(tokens)]
        if token in self.rules.forbidden_ids:
            return False
        early = len(tokens) + 1 < self.rules.min_length
        if token == self.rules.end_id and early:
            return False
        n = self.rules.no_repeat_ngram_size
        after = [*tokens, token]
        grams = [tuple(after[i : i + n]) for i in range(len(after) - n + 1)]
        return n == 0 or grams[-1:] == [] or grams[-1] not in grams[:-1]

    def extend(self, text):
        """All texts with one token more, by the token."""
        classes = self.log_probs.shape[-1]
        node = node_of(text.tokens, classes)
        for token in range(classes):
            log_p = self.log_probs[node, token]
            if self.may_come(text.tokens, token) and log_p > -np.inf:
                longer = Text(
                    [*text.tokens, token],
                    [*text.gains, log_p],
                    [*text.attended, self.weights[node]],
                )
                longer.score = self.score(longer)
                yield longer

    def score(self, text):
        a, b = self.rules.length_penalty, self.rules.coverage_penalty
        score = text.total / ((5 + len(text.tokens)) / 6) ** a
        covered = np.sum(text.attended, axis=0)[self.mask]
        return score + b * sum(math.log(min(c, 1.0)) for c in covered if b)

    def exhaustive(self):
        """Every text there is, the best one first."""
        found, growing = [], [Text([], [], [])]
        while growing:
            longer = [x for text in growing for x in self.extend(text)]
            found += [x for x in longer if self.ended(x)]
            growing = [x for x in longer if not self.ended(x)]
        return sorted(found, key=lambda text: -text.score)

    def beam(self, size):
        """Beam search, without stopping early."""
        beams = [Text([], [], [])]
        while not all(self.ended(text) for text in beams):
            every = []
            for text in beams:
                every += [text] if self.ended(text) else self.extend(text)
            beams = sorted(every, key=lambda text: -text.score)[:size]
        return beams

    def diverse_beam(self, size, groups, diversity):
        """Diverse beam search: groups that avoid each other's tokens."""
        found = [[Text([], [], [])] for _ in range(groups)]
        for _ in range(self.rules.max_length):
            taken = []
            for g, beams in enumerate(found):
                every = []
                for text in beams:
                    if self.ended(text):
                        every.append((text.score, text, []))
                        continue
                    for longer in self.extend(text):
                        token = longer.tokens[-1]
                        choice = longer.score - diversity * taken.count(token)
                        every.append((choice, longer, [token]))
                every = sorted(every, key=lambda x: -x[0])[: size // groups]
                found[g] = [text for _, text, _ in every]
                taken += [token for *_, new in every for token in new]
        every = [text for beams in found for text in beams]
        return sorted(every, key=lambda text: -text.score)

    def greedy(self):
        text = Text([], [], [])
        while not self.ended(text):
            every = list(self.extend(text))
            if not every:
                return []
            text = max(every, key=lambda x: x.total)
        return [Text(text.tokens, text.gains, text.attended, text.total)]


def check_texts(found, b, texts, rtol=1e-12):
    """Compare row `b` of a `Generation`, in NumPy, with the texts."""
    _, count, length = found.tokens.shape
    texts = texts[:count]
    for n, text in enumerate(texts):
        size = len(text.tokens)
        padded = text.tokens + [0] * (length - size)
        np.testing.assert_array_equal(found.tokens[b, n], padded)
        assert found.lengths[b, n] == size
        np.testing.assert_allclose(found.scores[b, n], text.score, rtol=rtol)
        given = np.array(text.gains + [0] * (length - size))
        np.testing.assert_array_equal(found.token_scores[b, n], given)
        if found.weights is not None:
            got = found.weights[b, n]
            np.testing.assert_allclose(got[:size], text.attended, rtol=rtol)
            assert (got[size:] == 0).all()
    rest = slice(len(texts), None)  # does not exist
    assert (found.scores[b, rest] == -np.inf).all()
    assert (found.lengths[b, rest] == 0).all()
    assert (found.tokens[b, rest] == 0).all()
    assert (found.token_scores[b, rest] == 0).all()
    assert found.weights is None or (found.weights[b, rest] == 0).all()
