"""From text to text in one TensorFlow graph."""

import tensorflow as tf

TEXT = tf.TensorSpec((None,), tf.string, name="text")


class TranslationGraph:
    """Tokenizes, generates and detokenizes, for any batch and any length.

    What it traces is what a translator calls and what an export writes.

    Args:
        model: A `Seq2Seq`.
        source_tokenizer: Makes ids of the text.
        target_tokenizer: Makes text of the ids.
        search: A search strategy.

    Attributes:
        translate: Traced function of `text (B,)`, to `translations (B, N)`
            and `scores (B, N)`, float32.
        align: The same with `source_tokens (B, Tv)`, `target_tokens (B, N,
            T)` and, if the model attends, `attention (B, N, T, Tv)`.
    """

    def __init__(self, model, source_tokenizer, target_tokenizer, search):
        self.model = model
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.search = search
        self.translate = tf.function(self._translate, [TEXT], autograph=False)
        self.align = tf.function(self._align, [TEXT], autograph=False)

    def _translate(self, text):
        return self._run(text)[0]

    def _align(self, text):
        answer, source_ids, generation = self._run(text)
        answer["source_tokens"] = self.source_tokenizer.tokens(source_ids)
        answer["target_tokens"] = self.target_tokenizer.tokens(
            generation.tokens
        )
        if generation.weights is not None:
            answer["attention"] = tf.cast(generation.weights, tf.float32)
        return answer

    def _run(self, text):
        ids = _at_least_one_step(self.source_tokenizer.tokenize(text))
        generation = self.model.generate(ids, self.search)
        tokens = generation.tokens  # (B, N, T)
        rows = tf.reshape(tokens, (-1, tokens.shape[-1]))
        texts = self.target_tokenizer.detokenize(rows)
        shape = tf.shape(generation.scores)
        answer = {
            "translations": tf.reshape(texts, shape),
            "scores": tf.cast(generation.scores, tf.float32),
        }
        return answer, ids, generation


def _at_least_one_step(ids):
    """Pad an empty batch, which has no longest row: an RNN reads step 0."""
    missing = tf.maximum(0, 1 - tf.shape(ids)[1])
    return tf.ensure_shape(tf.pad(ids, [[0, 0], [0, missing]]), (None, None))
