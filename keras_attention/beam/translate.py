"""Sentences to translations by Apache Beam, with a translator a process."""

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
        scores: The score of each of them, floats.
    """

    input: str
    texts: list[str]
    scores: list[float]


class Failed(NamedTuple):
    """A sentence that could not be translated.

    Attributes:
        input: The sentence, or what stands in its place.
        error: The kind of the error, and what it says.
    """

    input: str
    error: str


class TranslatorHandler(inference.ModelHandler):
    """Loads a translator in each process, and translates many sentences.

    Args:
        folder: What `Translator.save` has written. All workers must find it
            under this name.
        batch_size: How many sentences run at a time, of similar length.
        batches: How many batches are sorted by length together.
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
            inference_args: `None`; there are no others.

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
        """Return how many sentences to collect, of a bundle that has them."""
        count = self.batch_size * self.batches
        return {"min_batch_size": count, "max_batch_size": count}


def translate_all(
    translator: Translator, sentences: list[str], batch_size: int
) -> list[Translated | Failed]:
    """Translate sentences, some of which may fail.

    If they fail together, each half is tried alone, down to the sentences that
    are at fault.

    Args:
        translator: The translator.
        sentences: The sentences.
        batch_size: How many of them run at a time.

    Returns:
        What came out of each, in their order.
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
    r"""Translates a `PCollection` of sentences by a saved translator.

    It is Beam's `RunInference`: each worker process loads the translator once,
    and its threads share it. Sentences are collected, up to `batches` times
    `batch_size` of a bundle, sorted by length, and run `batch_size` at a time.

    A sentence that fails does not end the job. It goes to the second output,
    with its error, and the counter `keras_attention/failed` of the job counts
    it. A translator that cannot be loaded does end it.

    The order of a `PCollection` means nothing, so give sentences keys to know
    them again. A runner repeats the work of a worker that is lost; what a
    transform after this one writes elsewhere may come twice.

    Call arguments:
        sentences: A `PCollection` of `str`, or of pairs of a key and a `str`.

    Returns:
        Two `PCollection`s, which can be unpacked, or found by their names:
        `translated` of `Translated(input, texts, scores)`, and `failed` of
        `Failed(input, error)`; of pairs of the key and this, where there was a
        key.

    Args:
        folder: What `Translator.save` has written. All workers must find it
            under this name.
        batch_size: How many sentences run at a time. Defaults to `32`.
        batches: How many batches are sorted by length together. Defaults to
            `32`.

    Raises:
        ValueError: If an argument has a wrong value.
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
                "`folder` must name what `Translator.save` has written. "
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
    """Sends sentences that failed to their own output, and counts them."""

    def __init__(self):
        self.count = beam.metrics.Metrics.counter("keras_attention", FAILED)

    def process(self, element) -> Iterator:
        bare = isinstance(element, Translated | Failed)
        if isinstance(element if bare else element[1], Failed):
            self.count.inc()
            yield beam.pvalue.TaggedOutput(FAILED, element)
        else:
            yield element
