"""`export`: what `Translator.export` and `export_model` write."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers
from shell import saved
from shell import shell

from keras_attention import AttentionPooling
from keras_attention import Translator
from keras_attention.commands import arguments
from keras_attention.commands import main
from keras_attention.export.formats import MORE_OUTPUTS
from keras_attention.export.formats import OUTPUTS


def test_exports_as_the_translator_does(tmp_path, monkeypatch):
    asked = []

    def export(translator, *arguments, **options):
        asked.append((translator.search, arguments, options))

    monkeypatch.setattr(Translator, "export", export)
    path = str(tmp_path / "x.tflite")
    words = "--format", "litert", "--quantize", "int8", "--max-length", "9"
    more = "--n-best", "2", "--outputs", "translations,scores,attention"
    for some in ((*words, *more), ()):
        code, out, err = shell("export", saved(), path, *some)
        assert (code, err) == (0, "")
        assert out == f"{path}: 0.00 MB, verified against the model\n"
    (changed, *given), (kept, *default) = asked
    search = changed.get_config()
    assert [search[x] for x in ("max_length", "n_best")] == [9, 2]
    outputs = ["translations", "scores", "attention"]
    assert given == [
        (path, "litert"),
        {"quantize": "int8", "outputs": outputs},
    ]
    assert kept.get_config() == Translator.load(saved()).search.get_config()
    assert default == [
        (path, None),
        {"quantize": None, "outputs": OUTPUTS},
    ]


def test_outputs_are_named(tmp_path, capsys):
    assert MORE_OUTPUTS == arguments.OUTPUTS[2:]
    with pytest.raises(SystemExit) as ended:
        main(["export", "x", str(tmp_path / "y"), "--outputs", "scores,text"])
    assert ended.value.code == 2
    assert (
        "'scores,text' is not a list of translations,"
        in capsys.readouterr().err
    )


def test_errors_of_formats_are_messages(tmp_path):
    words = tmp_path / "x", "--quantize", "int8"
    code, _, err = shell("export", saved(), *words)
    assert code == 1
    assert "`quantize` needs a format that supports it" in err
    words = tmp_path / "x", "--format", "x"  # perhaps of one's own
    code, _, err = shell("export", saved(), *words)
    assert code == 1
    assert "'litert'" in err


def served(path, **inputs):
    (found,) = (
        tf.saved_model.load(path)
        .signatures["serving_default"](
            **{name: tf.constant(x) for name, x in inputs.items()}
        )
        .values()
    )
    return found


def test_a_keras_model_is_exported_with_a_sample(tmp_path):
    a, b = (keras.Input((None, 2), name=name) for name in "ab")
    model = keras.Model([a, b], AttentionPooling(3)(a + b))
    model.save(tmp_path / "m.keras")
    x = np.ones((3, 4, 2), "float32")
    np.savez(tmp_path / "named.npz", b=x, a=2 * x, label=x)
    np.savez(tmp_path / "unnamed.npz", x, 2 * x)
    for name in ("named", "unnamed"):
        words = "--sample", tmp_path / f"{name}.npz"
        path = tmp_path / name
        code, out, err = shell("export", tmp_path / "m.keras", path, *words)
        assert (code, err) == (0, "")
        assert 0 < float(re.match(rf"{path}: (\S+) MB", out)[1]) < 1
        np.testing.assert_allclose(served(path, a=x, b=x), model([x, x]))


def test_a_sample_may_be_one_array(tmp_path):
    model = keras.Sequential([keras.Input((2,), name="x"), layers.Dense(3)])
    model.save(tmp_path / "m.keras")
    np.save(tmp_path / "x.npy", np.ones((2, 2)))
    words = tmp_path / "m.keras", tmp_path / "m", "--sample", tmp_path / "x.npy"
    assert shell("export", *words)[::2] == (0, "")
    assert served(tmp_path / "m", x=np.ones((5, 2), "float32")).shape == (5, 3)


def test_models_and_samples_that_cannot_be_read_are_named(tmp_path):
    @keras.saving.register_keras_serializable("test_export")
    class Own(layers.Layer):
        def call(self, x):
            return x

    x = keras.Input((2,), name="x")
    keras.Model(x, Own()(x)).save(tmp_path / "own.keras")
    keras.Model(x, layers.Lambda(lambda x: x)(x)).save(tmp_path / "any.keras")
    keras.Model(x, layers.Dense(2)(x)).save(tmp_path / "m.keras")
    keras.saving.get_custom_objects().pop("test_export>Own")
    (tmp_path / "text.npy").write_text("no array")
    np.save(tmp_path / "objects.npy", np.array([{}], object))
    np.save(tmp_path / "x.npy", np.ones((2, 2)))
    for model, sample, message in (
        (
            "own",
            "x.npy",
            "own.keras, which cannot be used: .*custom layers",
        ),
        ("any", "x.npy", "any.keras, which cannot be used: .*safe"),
        ("m", "text.npy", "text.npy, which cannot be used"),
        ("m", "objects.npy", "objects.npy, which cannot be used"),
        ("m", "none.npy", "none.npy: No such file"),
    ):
        words = "--sample", tmp_path / sample
        code, _, err = shell(
            "export", tmp_path / f"{model}.keras", tmp_path / "m", *words
        )
        assert code == 1
        assert re.search(f"(?s){message}", err)
    code, _, err = shell("export", tmp_path / "m.keras", tmp_path / "m")
    assert code == 2
    assert "`--sample` is required for a Keras model" in err
    words = "--sample", tmp_path / "x.npy"
    code, _, err = shell("export", saved(), tmp_path / "m", *words)
    assert code == 2
    assert "`--sample` is only for Keras models" in err
    words = tmp_path / "m.keras", tmp_path / "m", *words
    for more in (
        ("--max-length", "3"),
        ("--n-best", "3"),
        ("--outputs", "translations,scores,attention"),
    ):
        code, _, err = shell("export", *words, *more)
        assert code == 2
        assert f"`{more[0]}` is only for saved translators" in err
    assert not (tmp_path / "m").exists()
