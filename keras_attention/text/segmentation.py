"""Sample segmentations of text into `sentencepiece` pieces from a seed.

`sentencepiece` can sample segmentations itself. However, since version 0.2.2
they differ in every process, whatever the seed, so a resumed training would
differ from an uninterrupted one. This module samples them from the pieces and
scores of the model: `MergeDropout` for byte pair encoding (BPE), and `Lattice`
for a unigram language model.
"""

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from heapq import heappop
from heapq import heappush
from itertools import accumulate
from math import exp
from math import log
from random import Random

from keras_attention.steps.pieces import NEEDED_BY
from keras_attention.steps.pieces import SPACE
from keras_attention.steps.pieces import load_processor
from keras_attention.steps.pieces import parse_model

KEPT = 2**14  # words whose lattices are kept,
SHORT = 32  # if they have no more characters
UNKNOWN_PENALTY = 10.0  # of `sentencepiece`, below the lowest score


class MergeDropout:
    """Merges characters pair by pair, and randomly skips merges (BPE-dropout).

    Args:
        scores: The score of each piece. The pair whose piece has the highest
            score is merged first; ties are merged from left to right.
        unused: Pieces that occur only as intermediate results of merges,
            never in a segmentation, unless they are single characters.

    Reference:
        [Provilkov et al., 2020](https://arxiv.org/abs/1910.13267).
    """

    def __init__(self, scores: dict[str, float], unused: Iterable[str] = ()):
        self.scores, self.unused = scores, {*unused}

    def sample(self, word: str, rate: float, random: Random) -> list[str]:
        """Sample a segmentation.

        Args:
            word: A string whose boundaries no piece crosses.
            rate: The probability of skipping a merge each time that it is next.
            random: The random number generator.

        Returns:
            The pieces, which join to the word.
        """
        after = {i: i + 1 for i in range(len(word))}  # the end of each piece
        before = {end: start for start, end in after.items()}
        halves, agenda = {}, []

        def propose(*cuts):  # where two pieces begin, meet and end
            merged = None not in cuts and word[cuts[0] : cuts[2]]
            if merged in self.scores:
                heappush(agenda, (-self.scores[merged], *cuts))

        for i in range(1, len(word)):
            propose(i - 1, i, i + 1)
        while agenda:
            _, start, middle, end = heappop(agenda)
            stale = (after.get(start), after.get(middle)) != (middle, end)
            if stale or random.random() < rate:
                continue
            halves[word[start:end]] = word[start:middle], word[middle:end]
            after[start], before[end] = end, start
            del after[middle]
            propose(before.get(start), start, end)
            propose(start, end, after.get(end))
        pieces = [word[start:end] for start, end in after.items()]
        return [x for piece in pieces for x in self._used(piece, halves)]

    def _used(self, piece, halves):
        if piece not in self.unused or piece not in halves:
            return [piece]
        return [x for half in halves[piece] for x in self._used(half, halves)]


class Lattice:
    """Samples a segmentation by its probability.

    P(x) ∝ exp(rate Σᵢ score(xᵢ)), where the scores are log probabilities of
    pieces. A forward pass sums over all segmentations of every prefix of a
    word, and a backward pass samples the pieces from right to left.

    Args:
        scores: The score of each piece. A character without a piece has the
            lowest score minus 10.

    Reference:
        [Kudo, 2018](https://arxiv.org/abs/1804.10959).
    """

    def __init__(self, scores: dict[str, float]):
        self.scores = scores
        self.longest = max(map(len, scores), default=1)
        self.unknown = min(scores.values(), default=0.0) - UNKNOWN_PENALTY
        self._kept = lru_cache(KEPT)(self.last_pieces)

    def sample(self, word: str, rate: float, random: Random) -> list[str]:
        """Sample a segmentation.

        Args:
            word: A string whose boundaries no piece crosses.
            rate: The exponent of the probability of segmentations.
            random: The random number generator.

        Returns:
            The pieces, which join to the word.
        """
        find = self._kept if len(word) <= SHORT else self.last_pieces
        choices = find(word, rate)
        pieces, end = [], len(word)
        while end:
            starts, sums = choices[end]
            drawn = random.random() * sums[-1]
            start = starts[bisect(sums, drawn, hi=len(sums) - 1)]
            pieces.append(word[start:end])
            end = start
        return pieces[::-1]

    def last_pieces(
        self, word: str, rate: float
    ) -> list[tuple[list[int], list[float]]]:
        """Find the last pieces of every prefix of a word.

        Args:
            word: The word.
            rate: As in `sample`.

        Returns:
            For each prefix length, the possible start positions of the last
            piece, and the cumulative sums of their unnormalized probabilities.
        """
        logs, found = [0.0], [([], [])]
        for end in range(1, len(word) + 1):
            starts, values = [], []
            for start in range(max(0, end - self.longest), end):
                score = self.scores.get(word[start:end])
                if score is None and start == end - 1:
                    score = self.unknown
                if score is not None:
                    starts.append(start)
                    values.append(logs[start] + rate * score)
            most = max(values)
            sums = [*accumulate(exp(value - most) for value in values)]
            logs.append(most + log(sums[-1]))
            found.append((starts, sums))
        return found


class SegmentationSampler:
    """Samples segmentations of texts.

    Args:
        model: The content of a model file, which must be valid.

    Raises:
        ValueError: If the model has only one segmentation per text.
    """

    def __init__(self, model: bytes):
        description = parse_model(model)
        spec = description.trainer_spec
        if spec.model_type not in (spec.BPE, spec.UNIGRAM):
            kind = spec.ModelType.Name(spec.model_type).lower()
            raise ValueError(
                f"{NEEDED_BY}.sample needs a `bpe` or `unigram` model: others "
                "have only one segmentation per text. Received: a model of "
                f"model_type={kind}. Leave `sample` out, or train such a model."
            )
        self.model = model
        ids, forms = defaultdict(dict), description.SentencePiece
        for i, piece in enumerate(description.pieces):
            ids[piece.type][piece.piece] = i
        known, unused = ids[forms.NORMAL], ids[forms.UNUSED]
        bpe = spec.model_type == spec.BPE
        if bpe:
            known = known | unused
        scores = {x: description.pieces[i].score for x, i in known.items()}
        self._kind = MergeDropout(scores, unused) if bpe else Lattice(scores)
        symbols, self._bytes = ids[forms.USER_DEFINED], ids[forms.BYTE]
        self._ids = known | symbols
        (self._unknown,) = ids[forms.UNKNOWN].values()
        self._symbols = _alternatives(symbols)
        self._words = _words(known)

    def sample(self, texts: list[str], rate: float, seed: int):
        """Sample a segmentation of each text.

        Args:
            texts: Texts before normalization by the model.
            rate: As in `MergeDropout` or `Lattice`.
            seed: The random seed. Equal seeds give equal samples in every
                process.

        Yields:
            For each text, the ids that the model assigns to its pieces.
        """
        random = Random(seed)
        for text in load_processor(self.model).normalize(texts):
            yield [*self._find_ids(self._cut(text, rate, random))]

    def _cut(self, text, rate, random):
        for i, part in enumerate(self._symbols.split(text)):
            if i % 2:  # what the pattern has found
                yield part
                continue
            for word in self._words.findall(part):
                yield from self._kind.sample(word, rate, random)

    def _find_ids(self, pieces):
        last = None
        for piece in pieces:
            found = self._ids.get(piece, self._unknown)
            if found != self._unknown:
                yield found
            elif self._bytes:
                yield from (self._bytes[f"<0x{x:02X}>"] for x in piece.encode())
            elif last != self._unknown:  # a run of these is one
                yield found
            last = found


load_sampler = lru_cache(maxsize=2)(SegmentationSampler)  # source and target


def _alternatives(symbols):
    """Return a pattern, in a group, of the longest of some strings."""
    longest_first = sorted(symbols, key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, longest_first)) or '(?!)'})")


def _words(pieces):
    """Return a pattern of the smallest units that no piece crosses."""
    if not any(SPACE in piece[1:] for piece in pieces):
        return re.compile(f"{SPACE}?[^{SPACE}]+|{SPACE}")
    if not any(SPACE in piece[:-1] for piece in pieces):
        return re.compile(f"[^{SPACE}]*{SPACE}|[^{SPACE}]+")
    return re.compile("(?s:.+)")
