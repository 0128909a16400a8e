"""A callback that translates, and reports BLEU as a metric."""

from collections.abc import Callable
from collections.abc import Sequence

import keras

from keras_attention.checks import check_integer
from keras_attention.extras import require


class ValidationBleu(keras.callbacks.Callback):
    """Translates sentences after an epoch, and writes their BLEU to the logs.

    The name in the logs and in the history is `val_bleu`, from 0 to 100, so
    that callbacks behind this one can use it:
    `EarlyStopping("val_bleu", mode="max")`. It is the corpus BLEU of
    sacreBLEU. Translating takes time; a `GreedySearch` and some hundred
    sentences are enough to tell epochs apart.

    Args:
        translate: Function from a list of sentences to the list of their
            translations, such as a `Translator` of the model that is trained.
        sources: Sentences to translate.
        references: The translation of each of them.
        every: Number of epochs from one evaluation to the next. In between,
            the last number stays in the logs. Defaults to `1`.
        lowercase: Whether letter case does not count. Defaults to `False`.
        tokenize: The tokenizer of sacreBLEU. Defaults to `"13a"`.

    Raises:
        ValueError: If there are no sentences, or not as many references, or
            `every` is not positive.
        ImportError: If sacrebleu is not installed.

    Example:

    >>> bleu = ValidationBleu(lambda texts: texts, ["a b c d"], ["a b c d"])
    >>> logs = {}
    >>> bleu.on_epoch_end(0, logs)
    >>> round(logs["val_bleu"])
    100

    Reference:
        [Papineni et al., 2002](https://aclanthology.org/P02-1040/);
        [Post, 2018](https://aclanthology.org/W18-6319/).
    """

    def __init__(
        self,
        translate: Callable[[list[str]], list[str]],
        sources: Sequence[str],
        references: Sequence[str],
        every: int = 1,
        lowercase: bool = False,
        tokenize: str = "13a",
    ):
        super().__init__()
        self.translate = translate
        self.sources = _as_sentences("sources", sources)
        self.references = _as_sentences("references", references)
        if len(self.sources) != len(self.references):
            raise ValueError(
                "ValidationBleu needs one reference for each source. Received: "
                f"{len(self.sources)} sources, {len(self.references)} "
                "references. Read both from parallel files."
            )
        self.every = check_integer("every", every)
        package = require("sacrebleu.metrics", "evaluation", "ValidationBleu")
        self.metric = package.BLEU(lowercase=lowercase, tokenize=tokenize)
        self.value = None

    def on_epoch_end(self, epoch, logs=None):
        if self.value is None or (epoch + 1) % self.every == 0:
            found = list(self.translate(self.sources))
            score = self.metric.corpus_score(found, [self.references])
            self.value = float(score.score)
        if logs is not None:
            logs["val_bleu"] = self.value


def _as_sentences(name, sentences):
    found = [] if isinstance(sentences, str) else list(sentences)
    if not found or not all(isinstance(x, str) for x in found):
        raise ValueError(
            f"`{name}` must be a list of sentences. Received: "
            f"{name}={sentences!r:.80}. Of a file: "
            "Path(file).read_text().splitlines()."
        )
    return found
