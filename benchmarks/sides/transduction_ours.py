"""Training on short texts, and translating them, by `Seq2Seq`."""

import keras
from sides.serve import serve
from works import TransductionWork

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import CharacterTokenizer
from keras_attention import GreedySearch
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import SymbolTokenizer
from keras_attention import Translator
from keras_attention import parallel_dataset


def make(work: dict, arrays: dict, mode: str):
    """Make the model; return functions that run it, and count its weights."""
    work = TransductionWork(**work)
    pairs = arrays["sources"].tolist(), arrays["targets"].tolist()
    letters = CharacterTokenizer.train(pairs[0], 2**20)
    symbols = SymbolTokenizer.train(pairs[1])
    cell = AttentionDecoderCell(
        keras.layers.LSTMCell(work.units), BahdanauAttention(work.units)
    )
    model = Seq2Seq(
        source_vocabulary_size=letters.vocabulary_size,
        target_vocabulary_size=symbols.vocabulary_size,
        embedding_dim=work.size,
        encoder=RecurrentEncoder(work.units),
        bridge=StateBridge("zeros", work.units),
        decoder=AttentionDecoder(cell),
        dropout=work.dropout,
    )
    model.build(((None, None), (None, None)))
    adam = keras.optimizers.Adam(work.rate)
    model.compile(adam, SequenceCrossentropy(label_smoothing=work.smoothing))
    batches = parallel_dataset(
        *pairs, letters, symbols, work.batch, training=True, seed=0
    )
    search = GreedySearch(max_length=work.longest)
    translator = Translator(model, letters, symbols, search)

    def train():
        model.fit(batches, shuffle=False, verbose=0)

    def translate():
        translator(pairs[0], batch_size=work.batch, verbose=0)

    run = {"train": train, "translate": translate}[mode]
    return run, lambda: {"weights": model.count_params()}


if __name__ == "__main__":
    serve(make)
