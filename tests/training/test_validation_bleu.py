"""ValidationBleu: sacreBLEU's number, as a metric to stop by."""

import keras
import numpy as np
import pytest
import sacrebleu

from keras_attention.training import ValidationBleu

SOURCES = ["eins zwei drei vier", "fünf sechs sieben acht neun"]
REFERENCES = ["One two three four", "five six seven eight nine"]


class Learner:
    """Translates one word more at each call, up to the third."""

    def __init__(self):
        self.calls = 0

    def __call__(self, sentences):
        assert sentences == SOURCES
        self.calls += 1
        words = min(2 + self.calls, 5)
        return [" ".join(x.split()[:words]).lower() for x in REFERENCES]


def fit(callbacks, epochs=6):
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.ones((2, 1))
    return model.fit(x, x, epochs=epochs, verbose=0, callbacks=callbacks)


def score(words, **options):
    texts = [" ".join(x.split()[:words]).lower() for x in REFERENCES]
    return sacrebleu.corpus_bleu(texts, [REFERENCES], **options).score


@pytest.mark.slow
@pytest.mark.parametrize("lowercase", [False, True])
def test_is_the_number_of_sacrebleu(lowercase):
    bleu = ValidationBleu(Learner(), SOURCES, REFERENCES, lowercase=lowercase)
    found = fit([bleu], 3).history["val_bleu"]
    wanted = [score(words, lowercase=lowercase) for words in (3, 4, 5)]
    np.testing.assert_allclose(found, wanted)
    assert (wanted[-1] == pytest.approx(100)) is lowercase


@pytest.mark.slow
def test_training_can_stop_by_it():
    bleu = ValidationBleu(Learner(), SOURCES, REFERENCES)
    stop = keras.callbacks.EarlyStopping("val_bleu", mode="max", patience=2)
    found = fit([bleu, stop]).history["val_bleu"]
    assert len(found) == 5  # the best is the third
    assert found[2] == max(found)


@pytest.mark.slow
def test_evaluates_every_few_epochs():
    learner = Learner()
    bleu = ValidationBleu(learner, SOURCES, REFERENCES, every=3)
    found = fit([bleu]).history["val_bleu"]
    assert learner.calls == 3  # the first epoch, the third and the sixth
    np.testing.assert_allclose(
        found, [score(3)] * 2 + [score(4)] * 3 + [score(5)]
    )


def test_refuses_what_is_no_parallel_text():
    with pytest.raises(ValueError, match="2 sources, 1 references"):
        ValidationBleu(Learner(), SOURCES, REFERENCES[:1])
    for wrong in ("a sentence", [], [1]):
        with pytest.raises(ValueError, match="`sources` must be a list"):
            ValidationBleu(Learner(), wrong, REFERENCES)
    with pytest.raises(ValueError, match="`every` must be a positive"):
        ValidationBleu(Learner(), SOURCES, REFERENCES, every=0)
