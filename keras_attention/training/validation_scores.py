"""A callback that translates validation sentences and logs scores."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence

import keras

from keras_attention.checks import check_choice
from keras_attention.checks import check_function
from keras_attention.checks import check_integer
from keras_attention.checks import check_list
from keras_attention.extras import require
from keras_attention.training.text_scores import MODES
from keras_attention.training.text_scores import score_texts


class ValidationScores(keras.callbacks.Callback):
    """Translates sentences after an epoch, and adds scores to the logs.

    Scores have the names `val_<name>` in the logs and the history, so that
    callbacks after this one can use them:
    `EarlyStopping("val_wer", mode="min")`. Scores are from 0 to 100, but error
    rates can be higher if hypotheses are much too long:

    | name | score | better if |
    | --- | --- | --- |
    | `"bleu"` | BLEU of sacreBLEU | higher |
    | `"chrf"` | chrF2 of sacreBLEU | higher |
    | `"ter"` | translation edit rate of sacreBLEU, case ignored | lower |
    | `"wer"` | word error rate: errors per 100 words | lower |
    | `"per"` | phone error rate: errors per 100 symbols | lower |
    | `"cer"` | character error rate: errors per 100 characters | lower |
    | `"ser"` | sequence error rate: wrong texts in percent | lower |
    | `"accuracy"` | exact-match accuracy in percent | higher |

    Translation takes time. To compare epochs, a `GreedySearch` and a few
    hundred sentences are enough. If a search returns several hypotheses per
    sentence, the best hypothesis is scored.

    Args:
        translator: A `Translator` of the model to train, which does not need to
            be built; or any function that takes a list of sentences and
            `batch_size`, and returns the list of their translations.
        sources: Sentences to translate.
        references: The reference translation of each sentence.
        metrics: Names from the table; or a dictionary from names to functions
            that take hypotheses and references and return a number. Defaults to
            `("bleu",)`.
        batch_size: Number of sentences in a batch. Defaults to `32`.
        frequency: Number of epochs between evaluations. In other epochs, the
            logs contain the last scores. Defaults to `1`.

    Raises:
        ValueError: If there are no sentences, if the numbers of sentences and
            references differ, if a metric is unknown, or if a number is not
            positive.
        ImportError: If sacrebleu or rapidfuzz is not installed.

    Example:

    >>> def echo(texts, batch_size):
    ...     return texts
    >>> names = "accuracy", "wer"
    >>> scores = ValidationScores(echo, ["a b c", "d"], ["a b", "d"], names)
    >>> logs = {}
    >>> scores.on_epoch_end(0, logs)
    >>> {name: round(value, 1) for name, value in logs.items()}
    {'val_accuracy': 50.0, 'val_wer': 33.3}
    """

    def __init__(
        self,
        translator: Callable,
        sources: Sequence[str],
        references: Sequence[str],
        metrics: Sequence[str] | Mapping[str, Callable] = ("bleu",),
        batch_size: int = 32,
        frequency: int = 1,
    ):
        super().__init__()
        self.translator = translator
        # Late, since text loads TensorFlow, where it is installed.
        name = type(self).__name__
        check = require("keras_attention.text.sentences", "text", name)
        self.sources = check.as_texts("sources", sources)
        self.references = check.as_texts("references", references)
        if not 0 < len(self.sources) == len(self.references):
            raise ValueError(
                "ValidationScores needs sources, and one reference for each "
                f"source. Received: {len(self.sources)} sources, "
                f"{len(self.references)} references. Check that the files are "
                "parallel."
            )
        needed = "a Translator, or a function that takes texts and `batch_size`"
        check_function("translator", translator, needed, "Try Translator.load.")
        self.metrics = [metrics] if isinstance(metrics, str) else metrics
        check_list("metrics", self.metrics, "names")
        self.batch_size = check_integer("batch_size", batch_size)
        self.frequency = check_integer("frequency", frequency)
        self.values = {}
        if not isinstance(self.metrics, Mapping):
            for name in self.metrics:
                check_choice("metrics", name, MODES)
            self._score(self.references)  # what is missing is told at once

    def on_epoch_end(self, epoch, logs=None):
        if not self.values or (epoch + 1) % self.frequency == 0:
            found = self.translator(self.sources, batch_size=self.batch_size)
            texts = [x if isinstance(x, str) else x[0] for x in found]
            self.values = self._score(texts)
        if logs is not None:
            logs.update(self.values)

    def _score(self, texts):
        return {
            f"val_{name}": float(
                self.metrics[name](texts, self.references)
                if isinstance(self.metrics, Mapping)
                else score_texts(name, texts, [self.references]).value
            )
            for name in self.metrics
        }
