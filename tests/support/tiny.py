"""A tiny translator, trained for a moment: digits to words."""

import functools

import keras
import numpy as np
from ready import GRAPH
from ready import make_ready
from ready import without_graphs
from seq2seqs import make_model

import keras_attention as ka

LETTERS = dict(zip("0123456789", "zyxwvutsrq", strict=True))


def write(digits: str) -> str:
    """Tell what the translator learns to give."""
    return "".join(LETTERS[d] for d in digits)


@functools.cache
def tiny_translator(attention: bool = True) -> ka.Translator:
    """Train once for all tests of a process."""
    keras.utils.set_random_seed(0)
    draw = np.random.default_rng(0).integers
    sources = [str(draw(0, 10 ** draw(1, 5))) for _ in range(1500)]
    targets = [write(source) for source in sources]
    tokenizers = [
        ka.CharacterTokenizer.train(side, 20, normalization="identity")
        for side in (sources, targets)
    ]
    source, target = (
        tokenizer.tokenize(side)
        for tokenizer, side in zip(tokenizers, (sources, targets), strict=True)
    )
    model = make_model(
        keras.layers.LSTMCell(32),
        attention=16 if attention else None,
        source_vocabulary_size=tokenizers[0].vocabulary_size,
        target_vocabulary_size=tokenizers[1].vocabulary_size,
        embedding_dim=16,
        encoder=ka.RecurrentEncoder(16),
    )
    adam = keras.optimizers.Adam(0.01)
    model.compile(adam, loss=ka.SequenceCrossentropy(), **GRAPH)
    data = (source, target[:, :-1]), target[:, 1:]
    make_ready(model, [x[:2] for x in data[0]])
    if attention:
        with without_graphs(False):
            model.fit(*data, epochs=5, batch_size=64, verbose=0)
    return ka.Translator(model, *tokenizers, ka.GreedySearch(max_length=8))
