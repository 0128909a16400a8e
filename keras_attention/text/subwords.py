"""Segmentations of parallel text that are drawn anew for every epoch."""

from collections.abc import Iterable

import numpy as np

from keras_attention.text.rows import Rows
from keras_attention.text.sentencepiece import SentencePieceTokenizer


def check_samples(rate: float, tokenizers, copying: bool):
    """Check that tokenizers can draw segmentations.

    Args:
        rate: The argument `sample_subwords` of `parallel_dataset`.
        tokenizers: Those of both sides.
        copying: The argument `copying` of `parallel_dataset`.

    Raises:
        ValueError: If they cannot.
    """
    kinds = [type(tokenizer).__name__ for tokenizer in tokenizers]
    can = all(isinstance(x, SentencePieceTokenizer) for x in tokenizers)
    if rate and (copying or not can):
        raise ValueError(
            "`sample_subwords` needs a SentencePieceTokenizer on both sides, "
            f"and copying=False. Received: sample_subwords={rate}, "
            f"copying={copying}, tokenizers={kinds}. Leave it 0, or train a "
            "SentencePieceTokenizer."
        )


class SubwordSampler:
    """Draws the ids of the pairs of a batch.

    A side that comes out longer than `limits` keeps its best segmentation, so
    that no batch needs a shape that others have not.

    Args:
        rate: As of `SentencePieceTokenizer.sample`.
        tokenizers: Those of both sides.
        texts: The lines of both sides as UTF-8, `Rows`.
        limits: The largest length of each side.
    """

    def __init__(self, rate: float, tokenizers, texts: list[Rows], limits):
        self.rate = rate
        self.tokenizers = tokenizers
        self.texts = texts
        self.limits = limits

    def draw(
        self,
        pairs: Iterable[int],
        best: list[list[np.ndarray]],
        random: np.random.Generator,
    ) -> list[list[np.ndarray]]:
        """Draw the ids of both sides.

        Args:
            pairs: The numbers of the pairs.
            best: The ids of their best segmentations, lists of rows.
            random: The generator of the epoch.

        Returns:
            Lists of rows, as `best`.
        """
        return [
            [
                new if len(new) <= limit else old
                for new, old in zip(
                    tokenizer.sample(
                        [texts[i].tobytes().decode() for i in pairs],
                        self.rate,
                        int(random.integers(2**32)),
                    ),
                    rows,
                    strict=True,
                )
            ]
            for tokenizer, texts, rows, limit in zip(
                self.tokenizers, self.texts, best, self.limits, strict=True
            )
        ]
