"""Layers whose inputs have rows of one length."""

import inspect

import keras

from keras_attention.checks import PAD
from keras_attention.checks import check_dense
from keras_attention.checks import tensors_of


class AbstractDenseLayer(keras.layers.Layer):
    """Refuses ragged and sparse inputs, before Keras builds for them."""

    def __call__(self, *args, **kwargs):
        names = list(inspect.signature(self.call).parameters)
        masks = [f"`{name}`" for name in names if name.endswith("mask")]
        real = f"Say by {' and '.join(masks)} what is real."
        way_out = f"{PAD} {real if masks else 'Ids of 0 then are masked.'}"
        for name, value in (*zip(names, args, strict=False), *kwargs.items()):
            for x in tensors_of(value):
                needed_by = f"{type(self).__name__} needs tensors"
                check_dense(needed_by, name, x, way_out)
        return super().__call__(*args, **kwargs)
