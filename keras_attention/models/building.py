"""Variables that are created before a training begins."""

import keras

from keras_attention.models.encoder import RecurrentEncoder


def build_for_training(model: keras.Model) -> None:
    """Create the variables of a model and of its optimizer, as far as known.

    TensorFlow traces a training step twice if its first trace creates any.
    A model without weights is built only if it reads ids by a
    `RecurrentEncoder`: others may need to know a length.

    Args:
        model: A `Seq2Seq` that is compiled.
    """
    reads_ids = model.source_embedding is not None
    any_length = isinstance(model.encoder, RecurrentEncoder)
    if not model.built and reads_ids and any_length:
        model.build(((None, None), (None, None)))
    if model.built and not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
