"""AttentionImages: what TensorBoard finds, read back and looked at."""

import sys

import keras
import numpy as np
import pytest
from keras import ops
from samples import randomize
from tiers import some

import keras_attention as ka
from keras_attention.training import attention_images
from keras_attention.training.attention_images import draw

tf = pytest.importorskip("tensorflow")

pytestmark = pytest.mark.usefixtures("without_graphs")

SOURCES = np.array([[2, 5, 6, 7, 3], [2, 4, 3, 0, 0]], "int32")
TARGETS = np.array([[2, 8, 7, 4, 3], [2, 6, 3, 0, 0]], "int32")


def make_model(attentions=(), **kwargs):
    """A small model with large weights, so that attention is not flat."""
    attentions = attentions or ka.BahdanauAttention(4)
    cell = ka.AttentionDecoderCell(keras.layers.LSTMCell(6), attentions)
    parts = {
        "source_vocabulary_size": 9,
        "encoder": ka.RecurrentEncoder(3),
        "bridge": ka.StateBridge(),
        "decoder": ka.AttentionDecoder(cell),
    }
    model = ka.Seq2Seq(
        target_vocabulary_size=10, embedding_dim=4, **{**parts, **kwargs}
    )
    model.compile("sgd", ka.SequenceCrossentropy(), run_eagerly=True)
    return model


def fit(model, callback, epochs=1, sources=SOURCES):
    data = (sources, TARGETS[:, :-1]), TARGETS[:, 1:]
    model((sources, TARGETS[:, :-1]))
    randomize(model, scale=1.5)
    model.fit(*data, epochs=epochs, callbacks=[callback], verbose=0)


def events(folder):
    """Step, name, plugin and parts of all that was written, in order."""
    files = sorted(map(str, folder.glob("events*")))
    for record in tf.data.TFRecordDataset(files):
        event = tf.compat.v1.Event.FromString(record.numpy())
        for value in event.summary.value:
            plugin = value.metadata.plugin_data.plugin_name
            parts = tf.make_ndarray(value.tensor).tolist()
            yield event.step, value.tag, plugin, parts


def images(folder):
    """The decoded image of every step and name."""
    return {
        (step, name): decode(parts[2])
        for step, name, _, parts in events(folder)
    }


def decode(png):
    return tf.io.decode_png(png, channels=3).numpy()


@pytest.fixture
def drawn(monkeypatch):
    """All that is handed to `plot_attention`: weights and tokens."""
    seen, plot = [], attention_images.plot_attention

    def record(weights, source_tokens, target_tokens, ax):
        seen.append((weights, list(source_tokens), list(target_tokens)))
        return plot(weights, source_tokens, target_tokens, ax)

    monkeypatch.setattr(attention_images, "plot_attention", record)
    return seen


class TestWhatIsWritten:
    @pytest.mark.slow
    def test_an_image_of_each_source_every_second_epoch(self, tmp_path):
        callback = ka.AttentionImages(
            tmp_path, SOURCES, search=ka.GreedySearch(max_length=4), frequency=2
        )
        fit(make_model(), callback, epochs=4)
        written = list(events(tmp_path))
        assert [(step, name) for step, name, *_ in written] == [
            (1, "attention/0"),
            (1, "attention/1"),
            (3, "attention/0"),
            (3, "attention/1"),
        ]
        for *_, plugin, (width, height, png) in written:
            assert plugin == "images"
            assert decode(png).shape == (int(height), int(width), 3)

    @pytest.mark.slow
    def test_each_of_several_attentions(self, tmp_path, drawn):
        model = make_model([ka.BahdanauAttention(4), ka.LuongGeneral()])
        options = {"targets": TARGETS, "name": "both"}
        fit(model, ka.AttentionImages(tmp_path, SOURCES, **options))
        assert {name for _, name in images(tmp_path)} == {
            f"both/{n}/{k}" for n in range(2) for k in range(2)
        }
        model.return_attention_scores = True
        _, weights = model((SOURCES, TARGETS[:, :-1]))
        for n, (matrix, *_) in enumerate(drawn):
            want = ops.convert_to_numpy(weights[n % 2])[n // 2]
            np.testing.assert_allclose(matrix, want, atol=1e-6)


class TestWhatIsGenerated:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "search",
        some(
            [
                ka.BeamSearch(2, max_length=6, start_id=4, end_id=5),
                ka.GreedySearch(max_length=6),
            ],
            1,
        ),
    )
    def test_is_what_generate_gives(self, tmp_path, drawn, search):
        model = make_model()
        fit(model, ka.AttentionImages(tmp_path, SOURCES, search=search))
        found = model.generate(SOURCES, search)
        tokens = ops.convert_to_numpy(found.tokens)[:, 0]
        weights = ops.convert_to_numpy(found.weights)[:, 0]
        assert len(drawn) == 2
        for n, (matrix, _, labels) in enumerate(drawn):
            longest = len(matrix)  # of both
            want = [str(i) if i else "" for i in tokens[n, :longest]]
            assert labels == want
            np.testing.assert_allclose(matrix, weights[n, :longest], atol=1e-5)
            assert not tokens[n, longest:].any()

    @pytest.mark.slow
    def test_features_have_their_positions_as_labels(self, tmp_path, drawn):
        features = np.random.default_rng(0).normal(size=(2, 4, 3))
        features = features.astype("float32")
        model = make_model(source_vocabulary_size=None)
        callback = ka.AttentionImages(
            tmp_path, features, search=ka.GreedySearch(max_length=3)
        )
        fit(model, callback, sources=features)
        assert [labels for _, labels, _ in drawn] == 2 * [list("0123")]


@pytest.mark.tensorflow
class TestStrings:
    def tokenizer(self, letters, size):
        from keras_attention import CharacterTokenizer

        return CharacterTokenizer.train(
            [letters], size, normalization="identity"
        )

    def test_are_read_and_named_by_their_tokenizers(self, tmp_path, drawn):
        source = self.tokenizer("abcde", 9)
        target = self.tokenizer("uvwxyz", 10)
        callback = ka.AttentionImages(
            tmp_path, ["abe", "d"], source, target, targets=["zy", "uvw"]
        )
        np.testing.assert_array_equal(
            callback.sources, source.tokenize(["abe", "d"])
        )
        fit(make_model(), callback)
        (_, *first), (_, *second) = drawn
        assert first == [
            ["<s>", "a", "b", "e", "</s>"],
            ["z", "y", "</s>", ""],
        ]
        assert second == [
            ["<s>", "d", "</s>", "", ""],
            ["u", "v", "w", "</s>"],
        ]

    @pytest.mark.parametrize(
        "sources", [["a"], np.array(["a"]), [b"a"], tf.constant(["a"])]
    )
    def test_need_a_tokenizer(self, tmp_path, sources):
        with pytest.raises(ValueError, match="needs a `source_tokenizer`"):
            ka.AttentionImages(tmp_path, sources)
        with pytest.raises(ValueError, match="needs a `target_tokenizer`"):
            ka.AttentionImages(tmp_path, SOURCES[:1], targets=sources)


class TestDraw:
    def test_every_cell_has_the_gray_of_its_weight(self):
        weights = np.random.default_rng(0).uniform(size=(3, 5))
        picture = decode(draw(weights, ["word"] * 5, ["another"] * 3))
        height, width, _ = picture.shape
        edge, cell = 10, 36  # dots: the margin, and a word
        for i in range(3):
            for j in range(5):
                y = height - edge - cell * (3 - i) + cell // 2
                x = width - edge - cell * (5 - j) + cell // 2
                want = 255 * weights[i, j]
                np.testing.assert_allclose(picture[y, x], want, atol=2)

    @pytest.mark.slow
    def test_a_long_text_stays_a_picture(self):
        picture = draw(np.eye(90, 120), ["a"] * 120, ["b"] * 90)
        assert max(decode(picture).shape) < 2600


class TestErrors:
    @pytest.mark.parametrize("kind", [keras.Sequential, ka.Seq2Seq])
    def test_a_model_without_attention(self, tmp_path, kind):
        model, x = keras.Sequential([keras.layers.Dense(1)]), np.ones((2, 1))
        data, loss = (x, x), "mse"
        if kind is ka.Seq2Seq:
            loss = ka.SequenceCrossentropy()
            cell = ka.AttentionDecoderCell(keras.layers.LSTMCell(6), None)
            model = make_model(decoder=ka.AttentionDecoder(cell))
            data = (SOURCES, TARGETS[:, :-1]), TARGETS[:, 1:]
        model.compile("sgd", loss, run_eagerly=True)
        callbacks = [ka.AttentionImages(tmp_path, SOURCES)]
        with pytest.raises(ValueError, match="a Seq2Seq with attention"):
            model.fit(*data, callbacks=callbacks, verbose=0)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("module", "package"),
        [("tensorflow", "tensorflow"), ("matplotlib.figure", "matplotlib")],
    )
    def test_says_what_has_to_be_installed(self, monkeypatch, module, package):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ImportError, match=f"Images needs `{package}`"):
            ka.AttentionImages("logs", SOURCES)

    @pytest.mark.parametrize(
        ("kwargs", "says"),
        [
            ({"sources": SOURCES[0]}, "`sources` must be a batch"),
            ({"targets": TARGETS[0]}, "`targets` must be a batch"),
            ({"targets": TARGETS[:1]}, "`targets` needs one target for each"),
            ({"frequency": 0}, "`frequency` must be a positive"),
            ({"search": "greedy"}, "`search` must be an instance of Abstract"),
            ({"search": ka.GreedySearch}, "the class GreedySearch"),
        ],
    )
    def test_refuses_what_does_not_fit(self, tmp_path, kwargs, says):
        with pytest.raises(ValueError, match=says):
            ka.AttentionImages(tmp_path, **{"sources": SOURCES, **kwargs})


@pytest.mark.parametrize("name", ["source_tokenizer", "target_tokenizer"])
def test_names_what_is_no_tokenizer(tmp_path, name):
    with pytest.raises(ValueError, match=f"{name}=3"):
        ka.AttentionImages(tmp_path, np.ones((1, 3), "int32"), **{name: 3})
