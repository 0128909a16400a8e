import caption_shapes as example
import numpy as np
import pytest
from keras import ops


def test_the_encoder_knows_where_each_feature_is():
    encoder = example.GridEncoder((4, 6))
    outputs = encoder(np.ones((2, 8, 16, 3), "float32"))
    sequence, *states = map(ops.convert_to_numpy, outputs)
    assert sequence.shape == (2, 2 * 4, 6 + 2)
    places = sequence[1, :, -2:].reshape(2, 4, 2)
    np.testing.assert_allclose(places[:, 0, 0], [-1, 1])
    np.testing.assert_allclose(places[1, :, 1], np.linspace(-1, 1, 4), 1e-6)
    assert len(states) == 2
    for state in states:
        np.testing.assert_allclose(state, sequence.mean(axis=1), 1e-5, 1e-6)


@pytest.mark.thorough
def test_it_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    translators, train = [], example.train

    def keeping(*arguments):
        translators.append(train(*arguments))
        return translators[0]

    monkeypatch.setattr(example, "train", keeping)
    share = example.main(quick=True)
    assert 0 <= share <= 1
    loss = translators[0].model.history.history["loss"]
    assert loss[-1] < 0.9 * loss[0]
    picture = tmp_path / "outputs" / "caption_shapes.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    image = np.random.default_rng(0).random((48, 48, 3), "float32")
    wanted, weights = example.look(translators[0], image)
    words, found = example.look_by_file(
        tmp_path / "outputs" / example.FILE, image
    )
    assert words == wanted
    np.testing.assert_allclose(found[: len(words)], weights, atol=1e-4)
    printed = capsys.readouterr().out
    assert "Exact-match accuracy on 64 new scenes" in printed
    assert printed.endswith("\nPicture: outputs/caption_shapes.png\n")
