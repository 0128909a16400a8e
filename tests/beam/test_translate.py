"""translate: sentences in, translations out, by Beam's own runners."""

import os
from pathlib import Path

import pytest
from shell import saved

pytestmark = pytest.mark.tensorflow
beam = pytest.importorskip("apache_beam", reason="the extra `beam`")

from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.util import assert_that
from apache_beam.testing.util import equal_to

from keras_attention import Translator
from keras_attention.beam import Translate

LINES = ["0", "21", "", "4444", "310", "1234", "4"]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wanted():
    texts = Translator.load(saved())(LINES)
    return dict(zip(LINES, texts, strict=True))


def here():
    return beam.Pipeline("FnApiRunner")


def test_sentences_come_out_with_their_translations(wanted):
    with here() as pipeline:
        outputs = pipeline | beam.Create(LINES) | Translate(saved(), 2)
        translated, failed = outputs
        assert translated is outputs.translated
        assert failed is outputs.failed
        found = translated | beam.Map(lambda x: (x.input, *x.texts))
        assert_that(found, equal_to([*wanted.items()]))
        assert_that(failed, equal_to([]), label="none failed")


def test_keys_are_kept_and_failures_are_counted(wanted):
    elements = [*enumerate(LINES), (99, None), (98, 3)]
    with here() as pipeline:
        outputs = pipeline | beam.Create(elements) | Translate(str(saved()))
        found = outputs.translated | "Texts" >> beam.Map(
            lambda x: (x[0], x[1].texts)
        )
        failed = outputs.failed | "Errors" >> beam.Map(
            lambda x: (x[0], x[1].error.split(":")[0])
        )
        texts = [(n, [wanted[line]]) for n, line in enumerate(LINES)]
        errors = [(98, "ValueError"), (99, "ValueError")]
        assert_that(found, equal_to(texts))
        assert_that(failed, equal_to(errors), label="failed")
    (counter,) = pipeline.result.metrics().query(
        beam.metrics.MetricsFilter().with_name("failed")
    )["counters"]
    assert counter.committed == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((None,), "`folder` must name"),
        (("",), "`folder` must name"),
        (("folder", 0), "`batch_size`"),
        (("folder", 1, 0), "`batches`"),
    ],
)
def test_wrong_arguments_are_refused(arguments, says):
    with pytest.raises(ValueError, match=says):
        Translate(*arguments)


def test_a_folder_that_is_not_there_ends_the_job(tmp_path):
    with pytest.raises(Exception, match="gone"), here() as pipeline:
        pipeline | beam.Create(LINES) | Translate(tmp_path / "gone")
