"""From text to text in one TensorFlow graph."""

import keras
import tensorflow as tf

from keras_attention.text import aligned_words
from keras_attention.text import copied_words
from keras_attention.text import spell_source

TEXT = tf.TensorSpec((None,), tf.string, name="text")
PREFIX = tf.TensorSpec((None,), tf.string, name="prefix")


class TranslationGraph:
    """Tokenizes, generates and detokenizes, for any batch and any length.

    What it traces is what a translator calls and what an export writes. It is
    one graph; but where the model is compiled for each shape, on JAX or by
    XLA, only what reads and what writes text is traced.

    Args:
        model: A `Seq2Seq`.
        source_tokenizer: Makes ids of the text.
        target_tokenizer: Makes text of the ids.
        search: A search strategy.
        max_source_length: The most ids of a source, start and end included;
            what is beyond is cut. `None` cuts nothing.
        replace_unknown: Whether an unknown word is written as the word of
            the source that has most attention. Defaults to `False`.

    Attributes:
        translate: Function of `text (B,)`, to `translations (B, N)` and
            `scores (B, N)`, float32.
        align: The same with `source_tokens (B, Tv)`, `target_tokens (B, N,
            T)` and, if the model attends, `attention (B, N, T, Tv)`.
        complete: As `align`, of `text (B,)` and `prefix (B,)`, with which
            each translation of a row begins.
        count: Function of `text (B,)`, to the number of ids of each row
            before any is cut.
    """

    def __init__(
        self,
        model,
        source_tokenizer,
        target_tokenizer,
        search,
        max_source_length: int | None = None,
        replace_unknown: bool = False,
    ):
        self.model = model
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.search = search
        self.max_source_length = max_source_length
        self.replace_unknown = replace_unknown
        self.count = _traced(self._count, TEXT)
        xla = model.compiled and model.jit_compile
        if keras.backend.backend() == "tensorflow" and not xla:
            self.translate = _traced(self._translate, TEXT)
            self.align = _traced(self._run, TEXT)
            self.complete = _traced(self._run, TEXT, PREFIX)
        else:
            self._read = _traced(self._read, TEXT)
            self._begin = _traced(self._begin, PREFIX)
            self._tell = tf.function(self._tell, reduce_retracing=True)
            self.translate = self._translate
            self.align = self.complete = self._run

    def _count(self, text):
        ids = self.source_tokenizer.tokenize(text)
        return tf.math.count_nonzero(ids, axis=1, dtype=tf.int32)

    def _translate(self, text):
        answer = self._run(text)
        return {name: answer[name] for name in ("translations", "scores")}

    def _run(self, text, prefix=None):
        ids, words = self._read(text)
        prefix = None if prefix is None else self._begin(prefix)
        tokens, scores, _, weights = self._generate(ids, prefix)
        return self._tell(ids, words, tokens, scores, weights)

    def _read(self, text):
        """Make ids `(B, Tv)`, and the word behind each if any is written."""
        ids = self.source_tokenizer.tokenize(text, self.max_source_length)
        # An empty batch has no longest row; an RNN reads step 0 all the same.
        missing = tf.maximum(0, 1 - tf.shape(ids)[1])
        ids = tf.pad(ids, [[0, 0], [0, missing]])
        words = None
        if self.replace_unknown or self.model.copying:
            words = aligned_words(self.source_tokenizer, text, ids)
        if self.model.copying:
            ids = spell_source(ids, words, self.model.target_vocabulary_size)
        return tf.ensure_shape(ids, (None, None)), words

    def _begin(self, prefix):
        clean = self.target_tokenizer.clean(prefix)
        return self.target_tokenizer.encode(clean).to_tensor()

    def _generate(self, ids, prefix):
        if keras.backend.backend() == "tensorflow":
            return self.model.generate(ids, self.search, prefix)
        prefix = None if prefix is None else prefix.numpy()
        found = self.model.generate(ids.numpy(), self.search, prefix)
        return [
            None if x is None else tf.constant(keras.ops.convert_to_numpy(x))
            for x in found
        ]

    def _tell(self, ids, words, tokens, scores, weights):
        sources = self.source_tokenizer.tokens(ids)
        targets = self.target_tokenizer.tokens(tokens)
        unknown = None
        if self.replace_unknown:
            unknown = self._attended(words, weights)
        if self.model.copying:
            size = self.model.target_vocabulary_size
            copied = copied_words(tokens, words, size)
            unknown = _first_said(copied, unknown)
            targets = _first_said(copied, targets)
            sources = _first_said(copied_words(ids, words, size), sources)
        unknown = None if unknown is None else _rows(unknown)
        texts = self.target_tokenizer.detokenize(_rows(tokens), unknown)
        answer = {
            "translations": tf.reshape(texts, tf.shape(scores)),
            "scores": tf.cast(scores, tf.float32),
            "source_tokens": sources,
            "target_tokens": targets,
        }
        if weights is not None:
            answer["attention"] = tf.cast(weights, tf.float32)
        return answer

    def _attended(self, words, weights):
        """Find the source's word for every token, as strings `(B, N, T)`."""
        if weights is None:
            raise ValueError(
                "`replace_unknown` needs a model that attends to its source. "
                "Received: replace_unknown=True with a model whose decoder "
                "has no attention."
            )
        real = tf.cast(words != "", weights.dtype)[:, None, None]
        _, best = tf.math.top_k(weights * real)
        return tf.gather(words, best[..., 0], batch_dims=1)


def _traced(function, *signature):
    return tf.function(function, signature, autograph=False)


def _first_said(words, others):
    """Take each word, or the other one where it is empty."""
    return words if others is None else tf.where(words == "", others, words)


def _rows(x):
    """Put the texts of all rows one below the other."""
    return tf.reshape(x, (-1, x.shape[-1]))
