"""ValidationScores: numbers of texts, as metrics to stop by."""

import keras
import numpy as np
import pytest

from keras_attention.training import SequenceCrossentropy
from keras_attention.training import ValidationScores
from keras_attention.training import score_texts

SOURCES = ["eins zwei drei vier", "fünf sechs sieben acht neun"]
REFERENCES = ["One two three four", "five six seven eight nine"]


def texts(words):
    return [" ".join(x.split()[:words]) for x in REFERENCES]


class Learner:
    """Translates one word more at each call, up to the third."""

    def __init__(self):
        self.calls = 0

    def __call__(self, sentences, batch_size):
        assert (sentences, batch_size) == (SOURCES, 7)
        self.calls += 1
        return texts(min(2 + self.calls, 5))


def scores(*arguments, learner=None, **options):
    given = learner or Learner(), SOURCES, REFERENCES
    return ValidationScores(*given, *arguments, batch_size=7, **options)


def fit(callbacks, epochs=6):
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True)
    x = np.ones((2, 1))
    return model.fit(x, x, epochs=epochs, verbose=0, callbacks=callbacks)


@pytest.mark.parametrize(
    ("name", "mode"), [("bleu", "max"), ("wer", "min"), ("accuracy", "max")]
)
def test_training_can_stop_by_it(name, mode):
    stop = keras.callbacks.EarlyStopping(f"val_{name}", mode=mode, patience=2)
    found = fit([scores(["cer", name]), stop]).history
    assert len(found["val_cer"]) == 5  # the best is the third
    best = {"max": max, "min": min}[mode]
    assert found[f"val_{name}"][2] == best(found[f"val_{name}"])
    assert found["val_cer"][0] == pytest.approx(
        score_texts("cer", texts(3), [REFERENCES]).value
    )


def test_functions_have_their_names():
    def longest(found, references):
        assert references == REFERENCES
        return max(map(len, found))

    found = fit([scores({"longest": longest})], 2).history
    assert found["val_longest"] == [
        max(map(len, texts(words))) for words in (3, 4)
    ]


def test_evaluates_every_few_epochs():
    learner = Learner()
    found = fit([scores("wer", learner=learner, frequency=3)])
    assert learner.calls == 3  # the first epoch, the third and the sixth
    values = [
        score_texts("wer", texts(words), [REFERENCES]).value
        for words in (3, 4, 5)
    ]
    wanted = [values[0]] * 2 + [values[1]] * 3 + [values[2]]
    np.testing.assert_allclose(found.history["val_wer"], wanted)


def test_the_best_of_several_texts_counts():
    def several(sentences, batch_size):
        return [[reference, "x"] for reference in REFERENCES]

    logs = {}
    scores("accuracy", learner=several).on_epoch_end(0, logs)
    assert logs == {"val_accuracy": 100}


def test_refuses_what_is_no_parallel_text():
    with pytest.raises(ValueError, match="2 sources, 1 references"):
        ValidationScores(Learner(), SOURCES, REFERENCES[:1])
    with pytest.raises(ValueError, match="0 sources, 0 references"):
        ValidationScores(Learner(), [], [])
    for wrong in ("a sentence", [1], None):
        with pytest.raises(ValueError, match="`sources` must be a list"):
            ValidationScores(Learner(), wrong, REFERENCES)
    with pytest.raises(ValueError, match="text that is not empty"):
        ValidationScores(Learner(), SOURCES, ["", ""])
    with pytest.raises(ValueError, match="`frequency` must be a positive"):
        scores(frequency=0)
    with pytest.raises(ValueError, match=r"`metrics` must be one of.*'mer'"):
        scores(["wer", "mer"])
    with pytest.raises(ValueError, match="`metrics` must be a list of names"):
        scores(None)
    with pytest.raises(ValueError, match="`translator` must be a Translator"):
        ValidationScores(None, SOURCES, REFERENCES)  # before an epoch is over


@pytest.mark.slow
@pytest.mark.tensorflow
def test_the_model_may_be_built_in_fit():
    from tiny import tiny_translator

    tiny = tiny_translator()
    model = type(tiny.model).from_config(tiny.model.get_config())
    parts = tiny.source_tokenizer, tiny.target_tokenizer, tiny.search
    translator = type(tiny)(model, *parts)
    numbers = ["12", "345", "6"]
    found = ValidationScores(translator, numbers, tiny(numbers), "accuracy")
    ids = parts[0].tokenize(numbers)
    model.compile("sgd", SequenceCrossentropy(), run_eagerly=True)
    start = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda *_: model.set_weights(tiny.model.get_weights())
    )
    history = model.fit((ids, ids), ids, callbacks=[start, found], verbose=0)
    assert history.history["val_accuracy"] == [100]
