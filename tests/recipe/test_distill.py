"""Distillation: a student of an ensemble, and the texts it learns from."""

import shutil
from dataclasses import replace

import keras
import numpy as np
import pytest
from ready import without_graphs
from samples import to_numpy

from keras_attention import CharacterTokenizer
from keras_attention import Ensemble
from keras_attention import Seq2Seq
from keras_attention import Translator
from keras_attention.recipe import NOTE
from keras_attention.recipe import Recipe
from keras_attention.recipe import train_translator
from keras_attention.recipe import training
from keras_attention.recipe.texts import TrainingTexts
from keras_attention.recipe.translator import read_unlabeled
from keras_attention.recipe.translator import taught_texts

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:.*{x}")
    for x in (
        "pairs occur more than once",
        "are also in the training set",
        "in every epoch",
    )
]
RECIPE = Recipe(units=4, epochs=2, batch_size=8, members=2, distill=True)


@pytest.fixture(scope="module", autouse=True)
def eager():
    with without_graphs():
        yield


class Teacher:
    """Writes texts backwards; does not know what its tokenizer does not."""

    source_tokenizer = CharacterTokenizer("abc")
    model = object()

    def __call__(self, sentences, verbose):
        return ["" if x == "c" else x[::-1] for x in sentences]


def test_what_the_teacher_writes_is_added():
    train = ["ab", "ba", "ab"], ["ba", "bb", "bb"]
    data = TrainingTexts(train, ([], []), [], (), "")
    more, said = ["cb", "ab", "xa", "c"], []
    with pytest.warns(UserWarning, match="1 of 4 unlabeled .* such as 'x'"):
        found = taught_texts(data, Teacher(), more, said.append)
    new = ["ba", "cb"], ["ab", "bc"]  # "ba" of "ab" is known, "c" is empty
    assert found.train == (train[0] + new[0], train[1] + new[1])
    assert found.teacher is Teacher.model
    assert said == ["Student: 3 pairs, and 2 from the teacher"]
    assert found.temperature == 1
    alone = taught_texts(data, Teacher(), [], said.append)
    assert alone.train[0][3:] == ["ba"]
    assert alone.temperature == 2


def test_sources_are_read_once_without_blank_lines(tmp_path):
    files = tmp_path / "a", tmp_path / "b"
    files[0].write_text("word\nab\n\n ab \nb\tX\n")
    files[1].write_text("word\nab\nc\n")
    assert read_unlabeled(files, header=True) == ["ab", "b\tX", "c"]
    assert read_unlabeled(files)[0] == "word"


@pytest.mark.slow
def test_a_student_is_the_result(tmp_path, monkeypatch):
    """It goes on where it was stopped, to the same weights."""
    table, more = tmp_path / "table.tsv", tmp_path / "more"
    table.write_text("ab\tba\nba\tab\nbb\tbb\naa\taa\n" * 2)
    more.write_text("abab\nbab\n")
    fit, learners = training.resumable_fit, []

    def recorded(model, *arguments, **options):
        learners.append(model)
        return fit(model, *arguments, **options)

    class Stop(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 1 and len(learners) == 3:
                raise KeyboardInterrupt

    monkeypatch.setattr(training, "resumable_fit", recorded)
    given, said = ([table], [table]), []
    with pytest.raises(KeyboardInterrupt):
        train_translator(
            *given, tmp_path / "out", RECIPE, [Stop()], unlabeled=[more]
        )
    members = tmp_path / "again.members"  # the student alone is trained again
    shutil.copytree(tmp_path / "out.members", members)
    shutil.rmtree(members / "student.training")
    found = [
        train_translator(
            *given, tmp_path / name, RECIPE, (), said.append, unlabeled=[more]
        )
        for name in ("out", "again")
    ]
    for x, y in zip(*(x.model.weights for x in found), strict=True):
        np.testing.assert_array_equal(to_numpy(x), to_numpy(y))
    distiller = learners[-1]
    assert isinstance(distiller, keras.distillation.Distiller)
    assert isinstance(distiller.teacher, Ensemble)
    assert distiller.student is found[1].model
    (loss,) = distiller.distillation_losses
    assert loss.temperature == 1
    assert isinstance(found[1].model, Seq2Seq)
    member = Translator.load(tmp_path / "again" / "seed_1")
    sizes = {x.model.count_params() for x in (member, *found)}
    assert len(sizes) == 1
    loaded = Translator.load(tmp_path / "again")
    assert loaded(["ab", "b"]) == found[1](["ab", "b"])
    assert "distill = true" in (tmp_path / "again" / NOTE).read_text()
    *_, members, ensemble, student = said
    assert "seed_1: accuracy" in members
    assert "ensemble: accuracy" in ensemble
    assert "student: accuracy" in student
    said.clear()
    train_translator(
        *given, tmp_path / "out", RECIPE, (), said.append, unlabeled=[more]
    )
    assert len(said) == 1
    with pytest.raises(ValueError, match="already contains"):
        train_translator(*given, tmp_path / "out", RECIPE)


@pytest.mark.slow
def test_a_larger_model_is_the_teacher(tmp_path):
    table, more = tmp_path / "table.tsv", tmp_path / "more"
    table.write_text("ab\tba\nba\tab\nbb\tbb\naa\taa\n" * 2)
    more.write_text("abab\nbab\n")
    large = Recipe(units=6, epochs=1, batch_size=4)
    teacher = train_translator([table], [table], tmp_path / "large", large)
    small, said, found = replace(large, units=4), [], []
    for _ in range(2):  # the second time, all has been trained
        found += [
            train_translator(
                *([table], [table], tmp_path / "small", small),
                *((), said.append, None, [more], tmp_path / "large"),
            )
        ]
    written = {*zip(["abab", "bab"], teacher(["abab", "bab"]), strict=True)}
    count = len([text for _, text in written if text])
    (line,) = [x for x in said if x.startswith("Student: ")]
    assert int(line.split()[4]) >= count
    assert found[0].model.count_params() < teacher.model.count_params()
    assert found[0](["ab"]) == found[1](["ab"])
    other = replace(small, lowercase=True)
    with pytest.raises(ValueError, match=r"`teacher` must .* another source"):
        train_translator(
            [table], [table], tmp_path / "o", other, teacher=tmp_path / "large"
        )


def test_what_distills_nothing_is_refused(tmp_path):
    table = tmp_path / "table.tsv"
    table.write_text("ab\tba\n")
    with pytest.raises(ValueError, match=r"`unlabeled` needs .* one of them"):
        train_translator(
            [table],
            [table],
            tmp_path / "out",
            replace(RECIPE, distill=False),
            unlabeled=[table],
        )
    with pytest.raises(ValueError, match=r"`distill` needs .* Set `members`"):
        replace(RECIPE, members=1)
