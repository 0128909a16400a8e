"""`Translate`: a transform of Apache Beam from sentences to translations."""

from collections.abc import Iterator
from pathlib import Path

from keras_attention.beam.handler import Failed
from keras_attention.beam.handler import Translated
from keras_attention.beam.handler import TranslatorHandler
from keras_attention.checks import check_integer
from keras_attention.extras import require

beam = require("apache_beam", "beam", "keras_attention.beam")
inference = require(
    "apache_beam.ml.inference.base", "beam", "keras_attention.beam"
)
TRANSLATED, FAILED = "translated", "failed"


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
                f"Received: folder={folder!r}. Save the translator, and give "
                "its folder."
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
