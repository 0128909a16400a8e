"""A program where TensorFlow is not installed, but for export complete.

It trains from files, is interrupted, goes on, translates, saves and loads.
"""

import sys
from pathlib import Path

sys.modules["tensorflow"] = sys.modules["tensorflow_text"] = None

import keras  # noqa: E402
import numpy as np  # noqa: E402

import keras_attention as ka  # noqa: E402

SENTENCES = [
    f"{i} {i * 7 % 10} {'ein zwei drei'.split()[i % 3]}" for i in range(24)
]


class Stop(keras.callbacks.Callback):
    """Raises an error at a batch."""

    def __init__(self, after):
        super().__init__()
        self.left = after

    def on_train_batch_begin(self, batch, logs=None):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def make_model(tokenizer):
    keras.utils.set_random_seed(1)
    size = tokenizer.vocabulary_size
    decoder = ka.AttentionDecoderCell(
        keras.layers.GRUCell(4), ka.BahdanauAttention(3)
    )
    model = ka.Seq2Seq(
        source_vocabulary_size=size,
        target_vocabulary_size=size,
        embedding_dim=3,
        encoder=ka.RecurrentEncoder(2, cell="gru"),
        decoder=ka.AttentionDecoder(decoder),
        bridge=ka.StateBridge(),
    )
    model.build(((None, None), (None, None)))
    model.compile("adam", loss=ka.SequenceCrossentropy())
    return model


def data(file, tokenizer):
    return ka.parallel_dataset(
        file, file, tokenizer, tokenizer, 8, training=True, seed=3, buckets=1
    )


def train(file, tokenizer, folder, *callbacks):
    model = make_model(tokenizer)
    options = {"epochs": 2, "verbose": 0, "callbacks": [*callbacks]}
    ka.resumable_fit(
        model, folder, data(file, tokenizer), save_freq=2, **options
    )
    return model.get_weights()


def check_training(file, tokenizer, folder):
    whole = train(file, tokenizer, folder / "whole")
    try:
        train(file, tokenizer, folder, Stop(4))
    except KeyboardInterrupt:
        print("interrupted")
    again = train(file, tokenizer, folder)
    assert all(map(np.array_equal, whole, again))


def check_translation(tokenizer, folder):
    search = ka.BeamSearch(2, n_best=2, max_length=5)
    translator = ka.Translator(
        make_model(tokenizer), tokenizer, tokenizer, search
    )
    texts = ["1 7 ein", "", "3"]
    found = translator(texts, return_attention_scores=True)
    assert len(found.source_tokens[0]) == found.attention[0][0].shape[-1]
    translator.save(folder)
    again = ka.Translator.load(folder)
    assert again(texts) == found.texts
    try:
        again.export(folder / "1")
    except ImportError as error:
        print(error)


def main(folder):
    file = folder / "text"
    file.write_text("".join(f"{line}\n" for line in SENTENCES))
    tokenizer = ka.SentencePieceTokenizer.train([file], 60)
    check_training(file, tokenizer, folder / "state")
    check_translation(tokenizer, folder / "translator")
    try:
        print(ka.export_stream)
    except ImportError as error:
        print(error)
    exec("from keras_attention import *", {})  # of what is there
    assert sys.modules["tensorflow"] is None


if __name__ == "__main__":
    main(Path(sys.argv[1]))
