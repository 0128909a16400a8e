"""Segmentations of parallel text that are drawn anew for every epoch."""

from collections.abc import Iterable

import numpy as np

from keras_attention.data.corpus import Corpus
from keras_attention.data.encode import PairEncoder
from keras_attention.text.segmentation import load_sampler
from keras_attention.text.sentencepiece import SentencePieceTokenizer

TRIED = 512  # pairs of a bucket whose segmentations are drawn for its width
HELD = 0.9  # of them are no longer than the bucket


def check_samples(rate: float, encoder: PairEncoder):
    """Check that tokenizers can draw segmentations.

    Args:
        rate: The argument `sample_subwords` of `parallel_dataset`.
        encoder: Has the tokenizers, and copies words or does not.

    Raises:
        ValueError: If they cannot.
    """
    if not rate:
        return
    tokenizers, copying = encoder.tokenizers, encoder.copying
    kinds = [type(tokenizer).__name__ for tokenizer in tokenizers]
    can = all(isinstance(x, SentencePieceTokenizer) for x in tokenizers)
    if copying or not can:
        raise ValueError(
            "`sample_subwords` needs a SentencePieceTokenizer on both sides, "
            f"and copying=False. Received: sample_subwords={rate}, "
            f"copying={copying}, tokenizers={kinds}. Leave it 0, or train a "
            "SentencePieceTokenizer."
        )
    for tokenizer in tokenizers:
        load_sampler(tokenizer.model)  # refuses one without a choice


class SubwordSampler:
    """Draws the ids of the pairs of a batch.

    Args:
        rate: As of `SentencePieceTokenizer.sample`.
        tokenizers: Those of both sides.
        corpus: The pairs, with their texts.
    """

    def __init__(self, rate: float, tokenizers, corpus: Corpus):
        self.rate = rate
        self.tokenizers = tokenizers
        self.corpus = corpus

    def choose_widths(
        self,
        bucket: np.ndarray,
        widths: np.ndarray,
        random: np.random.Generator,
    ) -> np.ndarray:
        """Choose the widths of buckets for the segmentations that are drawn.

        Those are longer than the best ones. A bucket gets the width that
        holds most of what is drawn for some of its pairs: one for the longest
        of all would be padding for the others.

        Args:
            bucket: The bucket of each pair, by its best segmentation.
            widths: `(K, 2)`: the widths for the best segmentations.
            random: A generator.

        Returns:
            `(K, 2)`: rising, and from the given widths to the largest of them.
        """
        wider = []
        for number, least in enumerate(widths):
            pairs = np.flatnonzero(bucket == number)
            pairs = random.choice(pairs, min(len(pairs), TRIED), replace=False)
            drawn = self._sample(pairs, random)
            lengths = [[len(row) for row in side] for side in drawn]
            most = np.quantile(lengths, HELD, axis=1, method="higher")
            wider.append(np.maximum(most, least))
        wider = np.maximum.accumulate(wider).astype("int64")
        return np.minimum(wider, widths[-1])

    def draw(
        self,
        pairs: Iterable[int],
        widths: Iterable[int],
        random: np.random.Generator,
    ) -> list[list[np.ndarray]]:
        """Draw the ids of both sides.

        Args:
            pairs: The numbers of the pairs.
            widths: The largest length of each side. What comes out longer is
                replaced by the best segmentation.
            random: The generator of the epoch.

        Returns:
            Lists of rows, one for each side.
        """
        sides = zip(
            self._sample(pairs, random), self.corpus.sides, widths, strict=True
        )
        return [
            [
                new if len(new) <= width else best[i]
                for new, i in zip(drawn, pairs, strict=True)
            ]
            for drawn, best, width in sides
        ]

    def _sample(self, pairs, random):
        return [
            tokenizer.sample(
                [texts[i].tobytes().decode() for i in pairs],
                self.rate,
                int(random.integers(2**32)),
            )
            for tokenizer, texts in zip(
                self.tokenizers, self.corpus.texts, strict=True
            )
        ]
