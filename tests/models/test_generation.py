"""Generation outside of a graph: sizes that no result depends on."""

import itertools

import keras
import numpy as np
import pytest
from generations import assert_same
from generations import to_numpy
from keras import ops
from tiers import some

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import Generation
from keras_attention import GreedySearch
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import StateBridge
from keras_attention.models.generation import SIZES
from keras_attention.models.generation import at_few_sizes
from keras_attention.models.generation import at_least_one

WORDS = 20


BACKEND = keras.backend.backend()


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(3)
    return make_model(RecurrentEncoder(4, cell="gru"))


def make_model(encoder, bridge=True):
    cell = AttentionDecoderCell(keras.layers.GRUCell(8), BahdanauAttention(6))
    model = Seq2Seq(
        source_vocabulary_size=WORDS,
        target_vocabulary_size=WORDS,
        embedding_dim=8,
        encoder=encoder,
        decoder=AttentionDecoder(cell),
        bridge=StateBridge(units=8) if bridge else None,
    )
    model.build(((None, None), (None, None)))
    return model


def draw(rows, length):
    ids = np.random.default_rng(rows).integers(4, WORDS, (rows, length))
    return ids.astype("int32")


def test_few_sizes_are_few():
    assert [n for n in SIZES if n < 100] == [
        *(2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)
    ]
    assert max(SIZES) > 10**6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "length"),
    some([(5, 1), (2, 7), (1, 9), *itertools.product([1, 2, 5], [2, 6, 8])], 3),
)
def test_what_is_padded_is_cut_again(model, rows, length):
    search, source = GreedySearch(max_length=6), draw(rows, length)
    plain = model._generate(ops.convert_to_tensor(source), search, None)
    sizes = []

    def run(source, prefix):
        sizes.append(tuple(source.shape))
        return model._generate(source, search, prefix)

    found = at_few_sizes(run)(ops.convert_to_tensor(source), None)
    assert_same(found, plain)
    assert sizes == [(6 if rows == 5 else rows, 12 if length == 9 else 8)]


def test_a_prefix_is_padded_with_its_row():
    def run(source, prefix):
        assert prefix.shape == (6, 8)
        assert ops.convert_to_numpy(prefix[:, 3:]).max() == 0
        return Generation(prefix, source, source)

    prefix = ops.convert_to_tensor(draw(5, 3))
    found = at_few_sizes(run)(ops.convert_to_tensor(draw(5, 4)), prefix)
    assert found.weights is None
    np.testing.assert_array_equal(found.tokens[:, :3], prefix)


def test_an_encoder_that_changes_the_length_runs_at_the_sizes_that_come():
    sizes = []

    def run(source, _):
        sizes.append(tuple(source.shape))
        weights = ops.ones((source.shape[0], 1, 3, (source.shape[1] + 1) // 2))
        return Generation(source, source, source, weights)

    resized = at_few_sizes(run)
    for _ in range(2):
        found = resized(ops.convert_to_tensor(draw(5, 5)), None)
        assert found.tokens.shape == (5, 5)
        assert found.weights.shape == (5, 1, 3, 3)
    assert sizes == [(6, 8), (6, 5), (6, 5)]


def test_sources_keep_their_length_for_an_encoder_that_reads_padding():
    def run(source, prefix):
        assert source.shape == (6, 5)
        assert prefix.shape == (6, 8)
        return Generation(source, source, source, source[:, None, None])

    prefix = ops.convert_to_tensor(draw(5, 3))
    source = ops.convert_to_tensor(draw(5, 5))
    found = at_few_sizes(run, pads=False)(source, prefix)
    np.testing.assert_array_equal(found.weights[:, 0, 0], source)


def test_an_empty_batch_runs_as_one_row():
    def run(source, search, prefix, attends):
        assert tuple(source.shape) == (1, 7)
        assert (search, prefix, attends) == ("search", None, True)
        return Generation(source, source, source)

    empty = ops.convert_to_tensor(draw(2, 7)[:0])
    found = at_least_one(run)(empty, "search", empty, True)
    assert [tuple(x.shape) for x in found[:3]] == [(0, 7)] * 3
    assert found.weights is None


def test_features_are_left_as_they_are():
    features = ops.ones((5, 3, 2))
    found = at_few_sizes(lambda *given: given)(features, "prefix")
    assert found[0] is features
    assert found[1] == "prefix"


@pytest.mark.slow
def test_generation_outside_of_a_graph_is_that_of_the_plain_loop(model):
    for search in (GreedySearch(max_length=5), GreedySearch(max_length=7)):
        for shape in ((3, 5), (2, 9), (1, 1)):
            source = draw(*shape)
            tensor = ops.convert_to_tensor(source)
            plain = model._generate(tensor, search, None)
            assert_same(model.generate(source, search), plain)


def test_it_goes_on_with_the_weights_of_today(model):
    search, source = GreedySearch(max_length=5), draw(2, 5)
    before = to_numpy(model.generate(source, search))
    weights = model.get_weights()
    model.set_weights([2 * w for w in weights])
    tensor = ops.convert_to_tensor(source)
    assert_same(
        model.generate(source, search), model._generate(tensor, search, None)
    )
    model.set_weights(weights)
    assert_same(model.generate(source, search), before)


def enable_lora(model):
    dense = model.output_layer
    dense.enable_lora(2)
    values = np.random.default_rng(0).normal(size=dense.lora_kernel_b.shape)
    dense.lora_kernel_b.assign(3 * values)


def quantize(model):
    model.quantize("int8")
    scale = model.output_layer.kernel_scale  # by which weights are divided
    scale.assign(scale * np.linspace(-3, 2, WORDS))


@pytest.mark.filterwarnings("ignore:.*does not have a `quantize`")
@pytest.mark.parametrize("change", [enable_lora, quantize])
def test_it_goes_on_with_the_variables_of_today(change):
    keras.utils.set_random_seed(3)
    model = make_model(RecurrentEncoder(4, cell="gru"))
    search, source = GreedySearch(max_length=5), draw(2, 5)
    before = to_numpy(model.generate(source, search))
    change(model)
    found = model.generate(source, search)
    tensor = ops.convert_to_tensor(source)
    assert_same(found, model._generate(tensor, search, None))
    assert np.abs(to_numpy(found)[1] - before[1]).max() > 0.01


@pytest.mark.filterwarnings("ignore:.*destroy the mask information")
@pytest.mark.parametrize("depth", [0, 1])
def test_an_encoder_that_reads_padding_gets_none(depth):
    """Where XLA compiles, that is for each length of its own."""
    keras.utils.set_random_seed(3)
    encoder = keras.layers.Conv1D(8, 3, padding="same")
    if depth:
        gru = keras.layers.GRU(8, return_sequences=True)
        encoder = keras.Sequential([encoder, gru])
    model = make_model(encoder, bridge=False)
    model.compile("sgd", jit_compile=BACKEND == "tensorflow")
    search, source = GreedySearch(max_length=5), draw(3, 5)
    tensor = ops.convert_to_tensor(source)
    plain = model._generate(tensor, search, None)
    assert_same(model.generate(source, search), plain)


@pytest.mark.thorough
@pytest.mark.tensorflow
def test_xla_gives_the_same(model):
    search, source = GreedySearch(max_length=5), draw(3, 5)
    plain = model.generate(source, search)
    model.compile("sgd", jit_compile=True)
    assert_same(model.generate(source, search), plain)
    model.compile("sgd", jit_compile=False)
