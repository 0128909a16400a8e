"""What a stream cannot run is named, with a reason and a way out."""

import numpy as np
import pytest
import streams
from keras import layers

import keras_attention as ka
from keras_attention.models.stream_checks import check_part
from keras_attention.models.stream_checks import find_readings

ZEROS = ka.StateBridge("zeros", bidirectional=False)


def make_model(attention, bridge=ZEROS, encoder=None, **options):
    encoder = encoder or ka.RecurrentEncoder(6, bidirectional=False)
    cell = ka.AttentionDecoderCell(layers.LSTMCell(6), attention)
    return ka.Seq2Seq(
        source_vocabulary_size=9,
        target_vocabulary_size=9,
        embedding_dim=4,
        encoder=encoder,
        decoder=ka.AttentionDecoder(cell),
        bridge=bridge,
        **options,
    )


def additive(alignment):
    return ka.BahdanauAttention(4, alignment=alignment)


HARD = ka.Monotonic("hard")
ATTENTIONS = {
    "alignment='softmax', which weighs all": lambda: additive("softmax"),
    "alignment='sparsemax', which weighs all": lambda: additive("sparsemax"),
    "'parallel'.*call `model.harden": lambda: additive(ka.Monotonic()),
    "ForwardAlignment, which keeps": lambda: additive(ka.ForwardAlignment()),
    "LocalPredictive.*length of": lambda: additive(ka.LocalPredictive(2)),
    "CoverageAttention.*earlier weights": lambda: ka.CoverageAttention(
        4, alignment=HARD
    ),
    "LocationAwareAttention.*earlier": lambda: ka.LocationAwareAttention(
        4, 2, 3, alignment=HARD
    ),
    "LocationAttention.*place in": lambda: ka.LocationAttention(
        5, alignment=HARD
    ),
    "GaussianMixtureAttention.*place in": lambda: ka.GaussianMixtureAttention(
        2
    ),
    "MultiHead.*several attentions": lambda: ka.MultiHead(additive(HARD), 2),
    "'parallel'.*harden": lambda: ka.ChunkwiseAttention(
        additive(ka.Monotonic()), additive("softmax"), 2
    ),
    "CoverageAttention, which": lambda: ka.ChunkwiseAttention(
        additive(HARD), ka.CoverageAttention(4), 2
    ),
    "attention=None.*last states": lambda: None,
    "alignment='softmax'": lambda: [additive(HARD), additive("softmax")],
}


@pytest.mark.parametrize("said", ATTENTIONS)
def test_attentions_that_need_the_end(said):
    with pytest.raises(ValueError, match=f"(?s){said}"):
        find_readings(make_model(ATTENTIONS[said]()))


def test_a_score_of_ones_own_says_what_it_depends_on():
    class Own(ka.BahdanauAttention):
        score_margin = ka.AbstractAttention.score_margin

    with pytest.raises(
        ValueError, match=r"Own, which weighs .*score_margin = 0"
    ):
        find_readings(make_model(Own(4, alignment=HARD)))


@pytest.mark.parametrize(
    ("bridge", "said"),
    [
        (None, "bridge=None, which begins"),
        (ka.StateBridge(bidirectional=False), r"StateBridge\('dense'\)"),
        (layers.Identity(), "bridge=Identity"),
    ],
)
def test_bridges_that_need_the_end(bridge, said):
    with pytest.raises(ValueError, match=said):
        find_readings(make_model(additive(HARD), bridge))


@pytest.mark.parametrize(
    ("name", "reason"), [("copying", "numbers"), ("lexical", "translates")]
)
def test_what_needs_the_whole_source_says_so(name, reason):
    model = make_model(additive(HARD), **{name: True})
    with pytest.raises(ValueError, match=f"{name}=True, which {reason}"):
        find_readings(model)


def test_every_attention_has_its_reading():
    attentions = [
        additive(ka.LocalMonotonic(3)),
        additive(HARD),
        ka.ChunkwiseAttention(additive(HARD), additive("softmax"), 5),
    ]
    befores = [x.before for x in find_readings(make_model(attentions))]
    assert befores == [3, 0, 4]
    encoder = layers.LSTM(6, return_sequences=True)
    assert find_readings(make_model(additive(HARD), None, encoder))


def test_parts_are_checked():
    ids = np.ones((2, 3), "int32")
    check_part(ids, None, 2, (), 9)
    check_part(np.zeros((2, 0)), None, 2, (), 9)
    features = np.ones((2, 3, streams.FEATURES))
    check_part(features, np.ones((2, 3)), 2, (streams.FEATURES,), None)
    with pytest.raises(ValueError, match=r"\(B, n, D\), here \(2, n, 4\)"):
        check_part(features, None, 2, (4,), None)


def test_what_follows_the_largest_weight():
    model = make_model(additive(HARD))
    model.decoder.cell.attention_window = 2, 4
    with pytest.raises(ValueError, match="attention_window, which follows"):
        find_readings(model)
    model.decoder.cell.attention_window = None
    model.decoder.cell.attention.aligner.stepwise = True
    with pytest.raises(ValueError, match="stepwise=True"):
        find_readings(model)
