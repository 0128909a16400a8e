"""translate: sentences in, translations out, by Beam's own runner."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from shell import saved

from keras_attention import Translator

beam = pytest.importorskip("apache_beam", reason="the extra `beam`")
testing = pytest.importorskip("apache_beam.testing.util")
options = pytest.importorskip("apache_beam.options.pipeline_options")
transform = pytest.importorskip("keras_attention.beam")

LINES = ["0", "21", "", "4444", "310", "1234", "4"]
ROOT = Path(__file__).parents[2]
TWO = "--direct_num_workers=2", "--direct_running_mode=multi_processing"


@pytest.fixture(scope="module")
def wanted():
    texts = Translator.load(saved())(LINES)
    return dict(zip(LINES, texts, strict=True))


def pipeline_of(*arguments):
    chosen = options.PipelineOptions(arguments)
    return beam.Pipeline("FnApiRunner", options=chosen)


def test_keys_are_kept_and_failures_are_counted(wanted):
    """Sentences without a key come without one."""
    elements = [*enumerate(LINES), (99, None), "21", 7]
    with pipeline_of() as pipeline:
        outputs = (
            pipeline
            | beam.Create(elements)
            | transform.Translate(str(saved()), 2)
        )
        translated, failed = outputs
        assert translated is outputs.translated
        assert failed is outputs.failed
        found = translated | "Texts" >> beam.Map(
            lambda x: (x[0], x[1].texts) if len(x) == 2 else x[:2]
        )
        errors = failed | "Errors" >> beam.Map(
            lambda x: (x[0], getattr(x[1], "error", x[1]).split(":")[0])
        )
        texts = [(n, [wanted[line]]) for n, line in enumerate(LINES)]
        testing.assert_that(
            found, testing.equal_to([*texts, ("21", [wanted["21"]])])
        )
        testing.assert_that(
            errors,
            testing.equal_to([(99, "ValueError"), (7, "ValueError")]),
            label="failed",
        )
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
        transform.Translate(*arguments)


def translate_files(folder, *arguments, batch_size=32):
    """Translate `folder/in` to files; each worker that has begun says so."""

    def mark(found):
        (folder / f"worker-{os.getpid()}").touch()
        return f"{found.input}\t{found.texts[0]}"

    with pipeline_of(*arguments) as pipeline:
        lines = pipeline | beam.io.ReadFromText(str(folder / "in"))
        found = lines | transform.Translate(saved(), batch_size, batches=1)
        marked = found.translated | beam.Map(mark)
        marked | beam.io.WriteToText(str(folder / "out"))


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnhandledThreadExceptionWarning"
)
def test_a_killed_worker_leaves_nothing_false(tmp_path, monkeypatch, wanted):
    """Beam's own runner then ends the job; it repeats nothing, others do."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    lines = LINES * 300
    (tmp_path / "in").write_text("\n".join(lines) + "\n")
    raised = []

    def run():
        try:
            translate_files(tmp_path, *TWO, batch_size=1)
        except RuntimeError as error:
            raised.append(error)

    job = threading.Thread(target=run, daemon=True)
    job.start()
    end = time.monotonic() + 120
    while not (workers := [*tmp_path.glob("worker-*")]):
        assert time.monotonic() < end
        time.sleep(0.01)
    os.kill(int(workers[0].name.partition("-")[2]), signal.SIGKILL)
    job.join(60)
    assert len(raised) == 1
    assert [*tmp_path.glob("out*")] == []
    translate_files(tmp_path)
    found = [x for out in tmp_path.glob("out*") for x in out.open()]
    assert sorted(found) == sorted(f"{x}\t{wanted[x]}\n" for x in lines)
