"""Train soft and hard attention to pronounce words, with several seeds.

Each data set is a folder or a prefix, to which `train.tsv.gz`, `dev.tsv.gz`
and `test.tsv.gz` are added: tables of a word, a tab, and its phones between
spaces. The epoch with the most right words of the dev set counts.

    python benchmarks/hard_attention.py data/ice_g2p/ --seeds 0 1 2 3 4
"""

import argparse

import keras

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import CharacterTokenizer
from keras_attention import GreedySearch
from keras_attention import HardAttention
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import SymbolTokenizer
from keras_attention import Translator
from keras_attention import ValidationScores
from keras_attention import parallel_dataset
from keras_attention import read_pairs

UNITS, EMBEDDING, LONGEST = 256, 128, 60
HARD = {"order 0": (0,), "order 1": (1,), "monotonic": (1, True)}
KINDS = "additive", *HARD


def make_model(kind: str, source_size: int, target_size: int) -> Seq2Seq:
    """Make a model with soft attention, or with hard attention of a kind."""
    soft = BahdanauAttention(UNITS) if kind == "additive" else None
    hard = None
    if kind in HARD:
        hard = HardAttention(BahdanauAttention(UNITS), UNITS, *HARD[kind])
    cell = AttentionDecoderCell(keras.layers.LSTMCell(UNITS), soft)
    return Seq2Seq(
        source_vocabulary_size=source_size,
        target_vocabulary_size=target_size,
        embedding_dim=EMBEDDING,
        encoder=RecurrentEncoder(UNITS // 2),
        bridge=StateBridge(),
        decoder=AttentionDecoder(cell),
        dropout=0.3,
        output=hard,
    )


def train(kind: str, prefix: str, seed: int, epochs: int, patience: int):
    """Train a model; return the shares of right words, dev and test."""
    keras.utils.set_random_seed(seed)
    pairs = {x: read_pairs(f"{prefix}{x}.tsv.gz") for x in ("train", "dev")}
    words, phones = pairs["train"]
    letters = CharacterTokenizer.train(words, 1000)
    symbols = SymbolTokenizer.train(phones)
    sizes = letters.vocabulary_size, symbols.vocabulary_size
    model = make_model(kind, *sizes)
    model.compile(
        keras.optimizers.Adam(1e-3, clipnorm=1.0),
        loss=SequenceCrossentropy(),
        jit_compile=False,
    )
    data = parallel_dataset(
        words, phones, letters, symbols, 32, training=True, seed=seed
    )
    translator = Translator(model, letters, symbols, GreedySearch(LONGEST))
    scores = ValidationScores(translator, *pairs["dev"], ["accuracy"], 128)
    stop = keras.callbacks.EarlyStopping(
        "val_accuracy", patience=patience, mode="max", restore_best_weights=True
    )
    history = model.fit(
        data, epochs=epochs, callbacks=[scores, stop], verbose=0
    )
    words, phones = read_pairs(f"{prefix}test.tsv.gz")
    said = translator(words, batch_size=128)
    right = [x == y for x, y in zip(said, phones, strict=True)]
    found = history.history["val_accuracy"]
    return max(found), 100 * sum(right) / len(right), len(found)


def main():
    """Print a line for each training."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prefixes", nargs="+")
    parser.add_argument("--seeds", nargs="+", type=int, default=range(5))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--epochs", type=int, default=80)
    parser.add_argument("--patience", type=int, default=15)
    options = parser.parse_args()
    print("data | kind | seed | dev | test | epochs")
    for prefix in options.prefixes:
        for kind in options.kinds:
            for seed in options.seeds:
                dev, test, epochs = train(
                    kind, prefix, seed, options.epochs, options.patience
                )
                row = prefix, kind, seed, f"{dev:.1f}", f"{test:.1f}", epochs
                print(*row, sep=" | ", flush=True)


if __name__ == "__main__":
    main()
