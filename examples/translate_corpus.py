r"""How do you translate a hundred million lines? In parts, with Apache Beam.

Apache Beam distributes the parts of a text to workers, on this machine or on a
cluster. If a worker is lost, Beam repeats its work. Each worker loads the
translator once:

    python examples/translate_corpus.py --folder de_en \
        --source "corpus-*.de.gz" --target translated

`--folder` is a saved translator. The output has lines such as `sentence <tab>
translation`, in files such as `translated-00000-of-00002.tsv`. Lines that could
not be translated are in `translated-failed-*.tsv`, with their errors. Without
arguments, the script generates a text of numbers, and trains a translator for a
few seconds to write a letter for each digit.

All other options are passed to Beam. The defaults run two processes on this
machine:

    --runner FnApiRunner --direct_num_workers 2 \
    --direct_running_mode multi_processing

To run on a cluster, pass another `--runner`, such as that of Dataflow, Flink or
Spark, with its options. The workers need this package and the folder; see
`docs/large_corpora.md`.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from train_distributed import DIGITS
from train_distributed import LETTERS
from train_distributed import make_model
from train_distributed import read
from train_distributed import write_corpus

from keras_attention import CharacterTokenizer
from keras_attention import GreedySearch
from keras_attention import Translator
from keras_attention.beam import Failed
from keras_attention.beam import Translate
from keras_attention.beam import Translated
from keras_attention.extras import require

beam = require("apache_beam", "beam", "translate_corpus.py")
options = require(
    "apache_beam.options.pipeline_options", "beam", "translate_corpus.py"
)
HERE = (
    "--runner=FnApiRunner",
    "--direct_num_workers=2",
    "--direct_running_mode=multi_processing",
)
PAIRS = 4096


def make_translator(folder: Path, epochs: int) -> Path:
    """Write a text and train a translator on it; return its folder."""
    write_corpus(folder, PAIRS)
    model = make_model()
    model.fit(read(folder, (0, 1)), epochs=epochs, shuffle=False, verbose=2)
    tokenizers = CharacterTokenizer(DIGITS), CharacterTokenizer(LETTERS)
    search = GreedySearch(max_length=20)
    Translator(model, *tokenizers, search).save(folder / "translator")
    return folder / "translator"


def as_line(found: Translated | Failed) -> str:
    """Write a sentence, a tab, and its translation or its error."""
    text = found.error if isinstance(found, Failed) else found.texts[0]
    return f"{found.input}\t{' '.join(text.split())}"


def translate(folder: str, source: str, target: str, runner: Sequence[str]):
    """Translate the lines of files.

    Args:
        folder: What `Translator.save` has written.
        source: Files to read, plain or compressed: a pattern.
        target: Beginning of the names of files to write.
        runner: Options of Beam.
    """
    with beam.Pipeline(options=options.PipelineOptions(runner)) as pipeline:
        lines = pipeline | "Read" >> beam.io.ReadFromText(source)
        outputs = lines | Translate(folder)
        for name, found, end in (
            ("translations", outputs.translated, ""),
            ("failures", outputs.failed, "-failed"),
        ):
            (
                found
                | f"Form {name}" >> beam.Map(as_line)
                | f"Write {name}" >> beam.io.WriteToText(target + end, ".tsv")
            )


def main(
    quick: bool = False,
    folder: str | None = None,
    source: str | None = None,
    target: str = "outputs/translated",
    runner: Sequence[str] = (),
):
    """Translate files, and print where the translations are.

    Args:
        quick: Whether to train for one epoch only, to try the code.
        folder: What `Translator.save` has written; `None` to make one.
        source: Files to read: a pattern. `None` for the text that is made.
        target: Beginning of the names of files to write.
        runner: Options of Beam.
    """
    with tempfile.TemporaryDirectory() as own:
        if folder is None:
            folder = make_translator(Path(own), epochs=1 if quick else 12)
            source = source or f"{own}/source"
        translate(str(folder), source, target, runner or HERE)
    print(f"Translations: {target}-*.tsv")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder")
    parser.add_argument("--source")
    parser.add_argument("--target", default="outputs/translated")
    known, others = parser.parse_known_args()
    main(**vars(known), runner=others)
