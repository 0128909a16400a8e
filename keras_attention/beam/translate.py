"""An Apache Beam transform with one translator per process."""

from collections.abc import Hashable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from keras_attention.checks import check_integer
from keras_attention.extras import require
from keras_attention.translator import Translator

beam = require("apache_beam", "beam", "keras_attention.beam")
inference = require(
    "apache_beam.ml.inference.base", "beam", "keras_attention.beam"
)
Sentence = str | tuple[Hashable, str]
TRANSLATED, FAILED = "translated", "failed"


class Translated(NamedTuple):
    """The translations of one sentence.

    Attributes:
        input: The sentence.
        texts: Its translations, a list of strings, best first.
        scores: The score of each translation.
    """

    input: str
    texts: list[str]
    scores: list[float]


class Failed(NamedTuple):
    """A sentence that could not be translated.

    Attributes:
        input: The sentence, or the value in its place.
        error: The type and message of the error.
    """

    input: str
    error: str


class TranslatorHandler(inference.ModelHandler):
    """Loads a translator in each process, and translates batches of sentences.

    Args:
        folder: Path to a saved translator. It must be the same on all
            workers.
        batch_size: Number of sentences per batch, which have similar lengths.
        batches: Number of batches that are sorted by length together.
    """

    def __init__(self, folder: str | Path, batch_size: int, batches: int):
        super().__init__()
        self.folder = str(folder)
        self.batch_size = batch_size
        self.batches = batches

    def load_model(self) -> Translator:
        """Load the translator, which the threads of a process share."""
        return Translator.load(self.folder)

    def run_inference(
        self,
        batch: Sequence[Sentence],
        model: Translator,
        inference_args: dict | None = None,
    ) -> Iterator:
        """Translate sentences.

        Args:
            batch: Sentences, or pairs of a key and a sentence.
            model: The translator.
            inference_args: Must be `None`.

        Yields:
            A `Translated` or a `Failed` for each sentence, with its key if it
            has one.
        """
        keyed = [isinstance(x, tuple) and len(x) == 2 for x in batch]
        sentences = [
            x[1] if k else x for x, k in zip(batch, keyed, strict=True)
        ]
        found = translate_all(model, sentences, self.batch_size)
        for element, has_key, result in zip(batch, keyed, found, strict=True):
            yield (element[0], result) if has_key else result

    def batch_elements_kwargs(self) -> Mapping[str, int]:
        """Return how many sentences of a bundle to collect."""
        count = self.batch_size * self.batches
        return {"min_batch_size": count, "max_batch_size": count}


def translate_all(
    translator: Translator, sentences: list[str], batch_size: int
) -> list[Translated | Failed]:
    """Translate sentences, some of which may fail.

    If a batch fails, each half is tried separately, down to the sentences
    that cause the error.

    Args:
        translator: The translator.
        sentences: The sentences.
        batch_size: Number of sentences per batch.

    Returns:
        A result for each sentence, in order.
    """
    try:
        found = translator(
            sentences, return_scores=True, batch_size=batch_size, verbose=0
        )
    except Exception as error:  # what a text can raise, nobody knows
        if len(sentences) == 1:
            return [Failed(sentences[0], f"{type(error).__name__}: {error}")]
        middle = len(sentences) // 2
        return [
            result
            for half in (sentences[:middle], sentences[middle:])
            for result in translate_all(translator, half, batch_size)
        ]
    return [
        Translated(
            sentence,
            [texts] if isinstance(texts, str) else [*texts],
            np.atleast_1d(scores).tolist(),
        )
        for sentence, texts, scores in zip(
            sentences, found.texts, found.scores, strict=True
        )
    ]


class Translate(beam.PTransform):
    r"""Translates a `PCollection` of sentences with a saved translator.

    This transform uses Beam's `RunInference`: each worker process loads the
    translator once, and its threads share the translator. Up to `batches` times
    `batch_size` sentences of a bundle are collected and sorted by length.
    `batch_size` sentences are translated at a time.

    A sentence that fails does not end the job. The second output contains the
    sentence with its error, and the metric counter `keras_attention/failed`
    counts it. If the translator cannot be loaded, the job ends.

    A `PCollection` has no order, so add keys to sentences to match them with
    their translations. A runner repeats the work of a lost worker. Therefore,
    a later transform with side effects can run twice for the same sentence.

    Call arguments:
        sentences: A `PCollection` of `str`, or of pairs of a key and a `str`.

    Returns:
        Two `PCollection`s, which you can unpack or access by name:
        `translated` with `Translated(input, texts, scores)`, and `failed` with
        `Failed(input, error)`. If the input has keys, pairs of the key and
        this result.

    Args:
        folder: Path to a saved translator. It must be the same on all
            workers.
        batch_size: Number of sentences per batch. Defaults to `32`.
        batches: Number of batches that are sorted by length together.
            Defaults to `32`.

    Raises:
        ValueError: If an argument is invalid.
        ImportError: If `apache_beam` is not installed.

    Example:

    ```python
    import apache_beam as beam
    from keras_attention.beam import Translate

    with beam.Pipeline() as pipeline:
        lines = pipeline | beam.io.ReadFromText("corpus-*.de.gz")
        translated, failed = lines | Translate("de_en")
        (
            translated
            | beam.Map(lambda x: f"{x.input}\t{x.texts[0]}")
            | beam.io.WriteToText("corpus.tsv")
        )
        failed | "Log" >> beam.io.WriteToText("failed")
    ```
    """

    def __init__(
        self, folder: str | Path, batch_size: int = 32, batches: int = 32
    ):
        super().__init__()
        if not isinstance(folder, str | Path) or not str(folder):
            raise ValueError(
                "`folder` must be the path of a saved translator. "
                f"Received: folder={folder!r}. Save the translator first."
            )
        self.folder = folder
        self.batch_size = check_integer("batch_size", batch_size)
        self.batches = check_integer("batches", batches)

    def expand(self, sentences):
        """Apply the transform; `sentences | Translate(folder)` calls it."""
        handler = TranslatorHandler(self.folder, self.batch_size, self.batches)
        found = sentences | "Run" >> inference.RunInference(handler)
        split = beam.ParDo(_Split())
        return found | "Split" >> split.with_outputs(FAILED, main=TRANSLATED)


class _Split(beam.DoFn):
    """Sends failed sentences to their own output, and counts them."""

    def __init__(self):
        self.count = beam.metrics.Metrics.counter("keras_attention", FAILED)

    def process(self, element) -> Iterator:
        bare = isinstance(element, Translated | Failed)
        if isinstance(element if bare else element[1], Failed):
            self.count.inc()
            yield beam.pvalue.TaggedOutput(FAILED, element)
        else:
            yield element
