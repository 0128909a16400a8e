"""How well does a small attentive RNN translate real captions?

Trains a bidirectional LSTM encoder and an attentional decoder on Multi30k
(29,000 captions), and prints BLEU on its test set of 2016:

    python examples/translate_multi30k.py --data multi30k --download

`--data` is a folder with the parts `train`, `val` and `test_2016_flickr` in
both languages, one sentence a line, plain or gzip: `train.de.gz`,
`train.en.gz`... `--download` fetches them into this folder first. It needs the
extras `text` and `evaluation`; `--plot` needs `plots`, and `--export` needs
`litert` and `onnx`.
"""

import argparse
import time
from pathlib import Path

import keras
from multi30k import PARTS
from multi30k import download
from multi30k import find
from multi30k import made_up_corpus

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import BeamSearch
from keras_attention import RecurrentEncoder
from keras_attention import SentencePieceTokenizer
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import TokenAccuracy
from keras_attention import Translator
from keras_attention import WordPieceTokenizer
from keras_attention import WordTokenizer
from keras_attention import parallel_dataset
from keras_attention import plot_attention
from keras_attention.extras import require
from keras_attention.text import read_lines
from keras_attention.text import read_parallel

TOKENIZERS = {
    "word": (WordTokenizer, {"min_frequency": 2}),
    "sentencepiece": (SentencePieceTokenizer, {}),
    "wordpiece": (WordPieceTokenizer, {}),
}
EXPORTS = {
    "tf_saved_model": "1",
    "litert": "translator.tflite",
    "onnx": "translator.onnx",
}


def build(source, target, units: int, dropout: float) -> Seq2Seq:
    """Make the model for a source and a target tokenizer."""
    cell = AttentionDecoderCell(
        keras.layers.LSTMCell(units),
        BahdanauAttention(units),
        attention_layer_size=units,
    )
    return Seq2Seq(
        source_vocabulary_size=source.vocabulary_size,
        target_vocabulary_size=target.vocabulary_size,
        embedding_dim=units,
        encoder=RecurrentEncoder(units),
        bridge=StateBridge(units=units),
        decoder=AttentionDecoder(cell),
        tie_embeddings=True,
        dropout=dropout,
    )


def train(
    model: Seq2Seq, files: dict, tokenizers: list, epochs: int, batch_size: int
):
    """Fit, with validation and early stopping."""
    batches = parallel_dataset(
        *files["train"],
        *tokenizers,
        batch_size,
        training=True,
        seed=1,
        max_length=60,
    )
    validation = parallel_dataset(*files["val"], *tokenizers, batch_size)
    model.compile(
        keras.optimizers.Adam(1e-3, global_clipnorm=1.0),
        loss=SequenceCrossentropy(label_smoothing=0.1),
        metrics=[TokenAccuracy()],
    )
    model.fit(
        batches,
        validation_data=validation,
        epochs=epochs,
        shuffle=False,  # `parallel_dataset` shuffles
        verbose=2,
        callbacks=[
            keras.callbacks.ReduceLROnPlateau(
                factor=0.3, patience=0, min_delta=0.02, verbose=1
            ),
            keras.callbacks.EarlyStopping(
                patience=1,
                min_delta=0.002,
                restore_best_weights=True,
                verbose=1,
            ),
        ],
    )


def bleu(translator: Translator, files: list[Path]) -> str:
    """Compute the BLEU of the test set: sacreBLEU, 13a, lowercased."""
    sacrebleu = require("sacrebleu", "evaluation", "translate_multi30k.py")
    source, target = (read_lines(file) for file in files)
    metric = sacrebleu.metrics.BLEU(lowercase=True)
    score = metric.corpus_score(translator(source), [target])
    return f"{score}\n{metric.get_signature()}"


def show(translator: Translator, sentences: list[str], plot):
    """Print translations, and draw the attention of the first."""
    found = translator(sentences, return_attention_scores=True)
    for sentence, translation in zip(sentences, found.texts, strict=True):
        print(f"{sentence}\n -> {translation}")
    if plot:
        axes = plot_attention(
            found.attention[0], found.source_tokens[0], found.target_tokens[0]
        )
        Path(plot).parent.mkdir(parents=True, exist_ok=True)
        axes.figure.savefig(plot, bbox_inches="tight")
        print(f"Picture: {plot}")


def main(
    quick: bool = False,
    data: str | Path | None = None,
    source: str = "de",
    target: str = "en",
    tokenizer: str = "word",
    epochs: int = 10,
    units: int = 256,
    beam: int = 5,
    save: str | Path | None = None,
    export: str | Path | None = None,
    plot: str | Path | None = None,
) -> str:
    """Train, test, and save and export on request.

    Args:
        quick: Whether to run on a few made-up sentences, to try the code.
        data: Folder of the corpus.
        source: Language to translate from.
        target: Language to translate to.
        tokenizer: Kind of the tokens: `"word"`, `"sentencepiece"` or
            `"wordpiece"`.
        epochs: The most epochs.
        units: Size of every layer.
        beam: Number of hypotheses that the search keeps.
        save: Folder for the translator, for later use in Python, if any.
        export: Folder for a SavedModel, a LiteRT and an ONNX file, if any.
        plot: File for a picture of the attention of the first test sentence,
            if any.

    Returns:
        BLEU and its signature.
    """
    start = time.time()
    if quick:
        data, epochs, units = made_up_corpus(source, target), 1, 16
    files = {
        part: [find(Path(data), part, side) for side in (source, target)]
        for part in PARTS
    }
    for both in files.values():
        read_parallel(*both)  # find a broken file before training
    kind, options = TOKENIZERS[tokenizer]
    size = 30 if quick else 8000
    tokenizers = [
        kind.train([file], size, lowercase=True, **options)
        for file in files["train"]
    ]
    print("Vocabularies:", *(t.vocabulary_size for t in tokenizers))
    model = build(*tokenizers, units, dropout=0.3)
    train(model, files, tokenizers, epochs, batch_size=4 if quick else 64)
    print(f"Trained after {(time.time() - start) / 60:.1f} minutes")
    search = BeamSearch(beam, length_penalty=0.6, max_length=60)
    words = tokenizer == "word"  # other tokenizers know every word
    translator = Translator(model, *tokenizers, search, replace_unknown=words)
    if save:
        translator.save(save)
        print(f"Translator: {save}")
    score = bleu(translator, files["test_2016_flickr"])
    print(score)
    show(translator, read_lines(files["test_2016_flickr"][0])[:5], plot)
    if export:
        for form, name in EXPORTS.items():
            translator.export(Path(export) / name, form)
            print(f"{form}: {Path(export) / name}")
    print(f"All done after {(time.time() - start) / 60:.1f} minutes")
    return score


def arguments() -> dict:
    """Read the command line, and download the corpus on request."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", help="folder of the corpus")
    parser.add_argument("--source", default="de")
    parser.add_argument("--target", default="en")
    parser.add_argument("--tokenizer", default="word", choices=TOKENIZERS)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--units", type=int, default=256)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--download", action="store_true")
    parser.add_argument("--save", help="folder for the translator")
    parser.add_argument("--export", help="folder for the exported models")
    parser.add_argument("--plot", help="file for a picture of the attention")
    given = vars(parser.parse_args())
    if not (given["data"] or given["quick"]):
        parser.error("--data is needed: the folder of the corpus")
    if given.pop("download"):
        languages = [given["source"], given["target"]]
        Path(given["data"]).mkdir(parents=True, exist_ok=True)
        download(Path(given["data"]), languages)
    return given


if __name__ == "__main__":
    main(**arguments())
