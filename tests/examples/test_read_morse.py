import re
import wave

import numpy as np
import pytest
import read_morse as example
from helpers import ear
from helpers import long_messages
from helpers import messages
from helpers import morse
from helpers import timing
from helpers.listener import Listener
from helpers.listener import naming
from keras import ops

pytestmark = pytest.mark.tensorflow

RANDOM = np.random.default_rng(0)
MESSAGES = messages.make_messages(6, 8.0, seed=5)


class Steady(morse.Hand):
    """One who keys as the book says."""

    def __init__(self, random, speed):
        super().__init__(random, speed)
        self.dah, self.gap, self.space = 3.0, 3.0, 7.0
        self.unsteady = self.drift = 0.0


def test_what_is_tested_is_never_trained():
    known, held_out = (
        {morse.draw_word(RANDOM, which) for _ in range(400)}
        for which in (False, True)
    )
    assert not any(map(morse.is_held_out, known))
    assert all(map(morse.is_held_out, held_out))
    assert {len(word) for word in held_out} >= {2, 3, 4, 5}
    assert set("".join(known)) == set(morse.CODES)


def test_timing_reads_a_steady_hand(monkeypatch):
    monkeypatch.setattr(morse, "Hand", Steady)
    steady = messages.make_messages(8, 15.0, seed=3, snr=(20, 20))
    assert messages.error_rate(timing.read(steady), steady) < 0.02


@pytest.mark.parametrize("size", [200, 130, 700])
def test_an_ear_hears_the_same_in_pieces(size):
    audio, listening = MESSAGES[0].audio[:6000], ear.Ear()
    parts = [
        listening.hear(audio[i : i + size]) for i in range(0, len(audio), size)
    ]
    whole = ear.features(ear.spectra(audio[None]))
    np.testing.assert_allclose(np.concatenate(parts, 1), whole, atol=2e-4)


def test_the_encoder_reads_on():
    listener = Listener(4)
    features = ear.hear(MESSAGES[:2])[:, :9]
    whole, *last = listener(features)
    states, parts = listener.first_states(2), []
    for part in (features[:, :2], features[:, 2:]):
        mask = np.ones(part.shape[:2], bool)
        outputs, mask, states = listener.read_on(part, mask, states)
        parts.append(outputs)
    np.testing.assert_allclose(ops.concatenate(parts, 1), whole, atol=1e-6)
    for state, wanted in zip(states[1:], last, strict=True):
        np.testing.assert_allclose(state, wanted, atol=1e-6)
    named = ops.convert_to_numpy(naming(listener)(features)).argmax(axis=-1)
    begins = np.diff(named, axis=1, prepend=ear.NOTHING) != 0
    begins &= named > ear.END
    assert begins.any()
    wanted = 8 * begins[..., None] * np.eye(ear.VOCABULARY_SIZE)[named]
    np.testing.assert_array_equal(whole, wanted)


def write_wav(file, audio):
    with wave.open(str(file), "wb") as opened:
        opened.setparams((1, 2, 4000, 0, "NONE", ""))
        opened.writeframes(np.rint(32000 * audio).astype("<i2").tobytes())


@pytest.mark.thorough
def test_it_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(example, "SNRS", (6,))
    monkeypatch.setattr(example, "SPEEDS", (20,))
    two = {x: long_messages.ATTENTIONS[x] for x in ("chunkwise", "GMM")}
    monkeypatch.setattr(long_messages, "ATTENTIONS", two)
    rates = example.main(quick=True, output=tmp_path)
    assert list(rates) == [(6, 20)]
    picture = tmp_path / "read_morse.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "Same text from the whole audio: True" in printed
    assert printed.endswith(f"\nPicture: {picture}\n")
    (live,) = re.findall(r"(?m)^Live:  (.*)$", printed)
    assert f"\nFile:  {live}\n" in printed
    assert (tmp_path / example.FILE).stat().st_size < 200_000
    tone = np.sin(2 * np.pi * 600 * np.arange(4000) / 4000)
    write_wav(tmp_path / "tone.wav", tone)
    before = (tmp_path / example.MODEL).stat().st_mtime_ns
    text = example.main(wav=tmp_path / "tone.wav", output=tmp_path)
    assert isinstance(text, str)
    assert (tmp_path / example.MODEL).stat().st_mtime_ns == before
    assert capsys.readouterr().out.endswith(f"read_morse.keras\n{text}\n")
    write_wav(tmp_path / "short.wav", tone[:100])
    assert len(example.main(wav=tmp_path / "short.wav", output=tmp_path)) < 2
    capsys.readouterr()
    rates = example.main(quick=True, compare=True, output=tmp_path)
    assert list(rates) == ["names alone", "chunkwise", "GMM"]
    assert (tmp_path / example.MODEL).stat().st_mtime_ns == before
    assert "\nGMM          " in capsys.readouterr().out
