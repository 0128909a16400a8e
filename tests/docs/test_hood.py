"""Pages on how the library works: they name the files that a run calls."""

import re
from pathlib import Path

import keras
import pytest
import source

import keras_attention as ka

PAGE = source.ROOT / "docs" / "hood" / "batch.md"
SENTENCES = ["a b", "b c a", "c"]


def files_called(run, name=None):
    """The files on the stack where a function is called, outermost first.

    Args:
        run: What to run, in this thread and others.
        name: The name of the function; `None` for the stack of most files.
    """
    stacks = [[*dict.fromkeys(x)] for x in source.stacks(run, name)]
    longest = max(stacks, key=len)
    return [str(path.relative_to(source.PACKAGE)) for path in longest]


def make_model(size, **options):
    """The model that the page is about."""
    cell = ka.AttentionDecoderCell(
        keras.layers.LSTMCell(8), ka.BahdanauAttention(4)
    )
    model = ka.Seq2Seq(
        source_vocabulary_size=size,
        target_vocabulary_size=size,
        embedding_dim=4,
        encoder=ka.RecurrentEncoder(4),
        bridge=ka.StateBridge(),
        decoder=ka.AttentionDecoder(cell),
    )
    model.compile("sgd", loss=ka.SequenceCrossentropy(), **options)
    return model


def runs(folder):
    """What each list of the page is about: a run, and the function it calls."""
    tokenizer = ka.WordTokenizer.train(SENTENCES, 10)
    model = make_model(tokenizer.vocabulary_size, run_eagerly=True)
    ids = tokenizer.tokenize(SENTENCES)
    search = ka.BeamSearch(2, max_length=4)
    file = Path(folder, "text")
    file.write_text("".join(f"{x}\n" for x in SENTENCES))
    dataset = ka.parallel_dataset  # which is imported here, not in the run
    return [
        (lambda: next(iter(dataset(file, file, *2 * [tokenizer], 2))), None),
        (
            lambda: model.fit((ids, ids), ids, verbose=0),
            "additive_scores",
        ),
        (
            lambda: ka.Translator(model, *2 * [tokenizer], search)(["a"]),
            "additive_scores",
        ),
    ]


@pytest.mark.slow
@pytest.mark.tensorflow
def test_the_page_lists_the_files_of_a_run(tmp_path):
    lists = re.findall(
        r"(?:^\d+\. `.*\n)+", PAGE.read_text(encoding="utf-8"), re.M
    )
    named = [re.findall(r"^\d+\. `(.+?)`:", x, re.M) for x in lists]
    assert named == [files_called(*x) for x in runs(tmp_path)]


@pytest.mark.slow
@pytest.mark.tensorflow
def test_a_first_batch_and_a_first_sentence_visit_few_files():
    """The most files, and the most frames on the stack, of any call."""
    tokenizer = ka.WordTokenizer.train(SENTENCES, 10)
    model = make_model(tokenizer.vocabulary_size)
    ids, search = tokenizer.tokenize(SENTENCES), ka.BeamSearch(2, max_length=4)
    translator = ka.Translator(model, *2 * [tokenizer], search)
    for run, files, depth in (
        (lambda: model.fit((ids, ids), ids, verbose=0), 30, 37),
        (lambda: translator(["a b"]), 40, 33),
    ):
        stacks = source.stacks(run)
        assert len({stack[-1] for stack in stacks}) <= files
        assert max(map(len, stacks)) <= depth
