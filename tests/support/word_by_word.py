"""A model of somebody else, small in a graph: tables, and no layer."""

import keras
import numpy as np
from keras import ops

from keras_attention import AbstractModel
from keras_attention.models import Begun


@keras.saving.register_keras_serializable(package="tests")
class WordByWord(AbstractModel):
    """Writes a word by a table of the word before and of the source's sum."""

    def __init__(self, source_size, target_size, **kwargs):
        super().__init__(**kwargs)
        self.source_vocabulary_size = source_size
        self.target_vocabulary_size = target_size
        self.pads_freely = True

    def build(self, input_shape=None):
        read, written = self.source_vocabulary_size, self.target_vocabulary_size
        options = {"initializer": "normal"}
        self.table = self.add_weight(shape=(written, written), **options)
        self.of_source = self.add_weight(shape=(read, written), **options)

    def call(self, inputs):
        source, target = inputs
        after = ops.take(self.table, target, axis=0)
        return after + ops.expand_dims(self._read(source), 1)

    def _read(self, source):
        real = ops.cast(ops.not_equal(source, 0), "float32")
        real = ops.expand_dims(real, -1)
        words = ops.take(self.of_source, source, axis=0)
        return ops.sum(real * words, axis=1)

    def begin(self, source, beams=1, search=None, prefix=None):
        mask = ops.not_equal(source, 0)
        weights = ops.cast(mask, "float32")
        return Begun((self._read(source), weights), [], mask)

    def next_word(self, tokens, states, prepared):
        read, weights = prepared
        scores = ops.take(self.table, tokens, axis=0) + ops.expand_dims(read, 1)
        weights = ops.expand_dims(weights, 1) * ops.ones(
            (1, tokens.shape[1], 1)
        )
        return ops.log_softmax(scores), states, weights

    def get_config(self):
        config = {
            f"{side}_size": getattr(self, f"{side}_vocabulary_size")
            for side in ("source", "target")
        }
        return {**super().get_config(), **config}


def table_model(source_words: int, target_words=None, seed=0) -> WordByWord:
    """Make one whose choices are clear.

    Args:
        source_words: Ids of the source.
        target_words: Those of the target; `None` for as many.
        seed: Of its tables.
    """
    model = WordByWord(source_words, target_words or source_words)
    model.build()
    drawn = np.random.default_rng(seed)
    for weight in model.weights:
        weight.assign(2 * drawn.normal(size=weight.shape))
    return model
