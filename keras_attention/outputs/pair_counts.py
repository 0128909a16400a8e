"""Sums of attention between words of a source and words of its target."""

import numpy as np

HELD = 2**22  # pairs that wait to be summed
ROOM = 20  # times the pairs that are asked for are kept meanwhile


class PairCounts:
    """Sums the attention that each target id pays to each source id.

    Only pairs that occur are kept, at most 20 times as many as are asked for:
    beyond that, the least of each source id are forgotten.

    Args:
        source_size: Number of source ids, `Vs`.
        target_size: Number of target ids, `V`.
        candidates: How many of each source id will be asked for, `C`.
    """

    def __init__(self, source_size: int, target_size: int, candidates: int):
        self.source_size, self.target_size = source_size, target_size
        self.candidates = candidates
        self._pairs = np.zeros(0, "int64")  # sorted, each once
        self._sums = np.zeros(0)
        self._waiting, self._held = [], 0

    def add(self, source: np.ndarray, target: np.ndarray, weights: np.ndarray):
        """Add the attention of a batch. Id 0 is padding on both sides.

        Args:
            source: Ids `(B, Tv)`.
            target: Ids `(B, T)` of the words that are predicted.
            weights: `(B, T, Tv)`.
        """
        source, target = source[:, None, :], target[:, :, None]
        real = (source != 0) & (target != 0) & (weights > 0)
        pairs = source.astype("int64") * self.target_size + target
        self._waiting.append((pairs[real], weights[real].astype("float64")))
        self._held += np.count_nonzero(real)
        if self._held > HELD:
            self._merge()

    def _merge(self):
        parts = [(self._pairs, self._sums), *self._waiting]
        self._waiting, self._held = [], 0
        pairs = np.concatenate([pairs for pairs, _ in parts])
        sums = np.concatenate([sums for _, sums in parts])
        self._pairs, places = np.unique(pairs, return_inverse=True)
        self._sums = np.bincount(places, sums, len(self._pairs))
        if len(self._pairs) > ROOM * self.candidates * self.source_size:
            places, _ = self._ranked(ROOM * self.candidates // 2)
            places = np.sort(places)
            self._pairs, self._sums = self._pairs[places], self._sums[places]

    def _ranked(self, count, without=()):
        """Find the pairs of the largest sums of each source id.

        Returns:
            The places of the pairs, and the rank of each among those of its
            source id, from 0.
        """
        left = ~np.isin(self._pairs % self.target_size, without)
        (places,) = np.nonzero(left)
        sources = self._pairs[places] // self.target_size
        # In a tie the smaller target id comes first, as the pairs are sorted.
        order = np.lexsort((places, -self._sums[places], sources))
        sources = sources[order]
        ranks = np.arange(len(order)) - np.searchsorted(sources, sources)
        best = ranks < count
        return places[order[best]], ranks[best]

    def best(self, without: np.ndarray) -> np.ndarray:
        """Return the target ids with the largest sums of each source id.

        Args:
            without: Target ids `(F,)` that are left out.

        Returns:
            Int32 `(Vs, C)`, the largest first, then 0.
        """
        self._merge()
        table = np.zeros((self.source_size, self.candidates), "int32")
        places, ranks = self._ranked(self.candidates, without)
        pairs = self._pairs[places]
        table[pairs // self.target_size, ranks] = pairs % self.target_size
        return table
