"""trace_ids: one trace for all shapes, and errors for what has none."""

import keras
import pytest
from tiny import tiny_translator

from keras_attention import Sampling
from keras_attention.export.ids import check_ids_only
from keras_attention.export.ids import trace_ids
from keras_attention.layers import sublayers


@pytest.mark.slow
def test_xla_cudnn_and_padded_kernels_are_off_while_it_is_traced(monkeypatch):
    """A runtime that packs kernels would multiply the padding for nothing."""
    model = tiny_translator().model
    seen, asked = [], []
    monkeypatch.setattr(
        "keras_attention.backend.backend.rows_collide",
        lambda *arguments: asked.append(arguments) or True,
    )

    def generate(ids, search, prefix, attends):
        seen.append(model.jit_compile)
        seen.extend(
            layer.use_cudnn
            for layer in sublayers(model)
            if hasattr(layer, "use_cudnn")
        )
        return type(model).generate(model, ids, search, prefix, attends)

    monkeypatch.setattr(model, "generate", generate)
    monkeypatch.setattr(model, "jit_compile", True)
    trace_ids(model, tiny_translator().search)
    assert seen == [False] * 3
    assert asked == []
    assert model.jit_compile is True


@pytest.mark.slow
def test_a_search_that_draws_is_named():
    with pytest.raises(ValueError, match=r"Sampling.*Use BeamSearch"):
        trace_ids(tiny_translator().model, Sampling(max_length=3))


def test_a_model_of_half_precision_is_refused(monkeypatch):
    model = tiny_translator().model
    policy = keras.dtype_policies.DTypePolicy("mixed_float16")
    monkeypatch.setattr(model, "dtype_policy", policy)
    with pytest.raises(ValueError, match=r"dtype='mixed_float16'.*set_weights"):
        check_ids_only(model, "export_x")


@pytest.mark.slow
def test_another_backend_is_named(monkeypatch):
    model = tiny_translator().model
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(ValueError, match=r"export_x .* backend='jax'"):
        check_ids_only(model, "export_x")
