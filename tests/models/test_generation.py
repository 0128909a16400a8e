"""Generation outside of a graph: what is compiled, and at which sizes."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import keras
import numpy as np
import pytest
from generations import assert_same
from generations import to_numpy
from keras import ops
from seq2seqs import built_model
from tiers import some

from keras_attention import AbstractModel
from keras_attention import AbstractSearch
from keras_attention import BeamSearch
from keras_attention import Ensemble
from keras_attention import GreedySearch
from keras_attention import LanguageModel
from keras_attention import RequiredPhrases
from keras_attention import Sampling
from keras_attention import ShallowFusion
from keras_attention.layers import embeddings
from keras_attention.models import generation
from keras_attention.models.generation import Programs
from keras_attention.models.generation import search_compiled
from keras_attention.models.generation import search_words
from keras_attention.search import follow_path

WORDS = 20
BACKEND = keras.backend.backend()
GREEDY = GreedySearch(max_length=5)
START = np.array([2, 0, 0, 0, 0])  # before the words of a text
NEVER = 1e9 * np.isin(range(WORDS), [0, 2])  # no words


@pytest.fixture(scope="module")
def model():
    return make_model()


def make_model(**changes):
    keras.utils.set_random_seed(3)
    sizes = {"words": WORDS, "embedding_dim": 8}
    return built_model(8, 6, **sizes, **changes)


def draw(rows, length):
    ids = np.random.default_rng(rows).integers(4, WORDS, (rows, length))
    return ids.astype("int32")


def plain(model, source, search):
    return search_words(model, ops.convert_to_tensor(source), search)


class Odd(AbstractSearch):
    """A search of somebody else, which may need the weights."""

    def call(self, step, state, batch_size, memory_mask=None, prefix=None):
        def take(log_probs, position):
            return ops.cast(ops.argmax(log_probs, axis=-1), "int32")

        return follow_path(self, take, step, state, batch_size, prefix)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("search", "needed"),
    [
        (GreedySearch(max_length=3), False),
        (Sampling(seed=1, max_length=3), False),
        (BeamSearch(2, max_length=3), False),
        (BeamSearch(2, coverage_penalty=0.2, max_length=3), True),
        (Odd(max_length=3), True),
    ],
)
def test_searches_get_weights_only_where_they_are_needed(
    model, search, needed, monkeypatch
):
    plain, seen = type(search).call, []

    def call(self, step, *args, **options):
        def watched(tokens, state):
            found = step(tokens, state)
            seen.append(found[2] is not None)
            return found

        return plain(self, watched, *args, **options)

    monkeypatch.setattr(type(search), "call", call)
    source = ops.convert_to_tensor(draw(2, 4))
    found = search_words(model, source, search, None, False)
    assert set(seen) == {needed}
    assert found.weights is None


def test_tied_embeddings_are_turned_once_a_search(monkeypatch):
    """Turned in each step, they take most of its time for a few rows."""
    turn = mock.Mock(side_effect=embeddings._transposed)
    monkeypatch.setattr(embeddings, "_transposed", turn)
    model = make_model(tie_embeddings="all", attention_layer_size=8)
    plain(model, draw(2, 4), GREEDY)
    turn.assert_called_once()


@pytest.mark.parametrize("wrong", ["weights", "options"])
def test_a_source_without_a_text_is_told_once(wrong):
    """Each time: by a program that is new, and by one that is there."""
    model, search = make_model(), GreedySearch(max_length=4)
    if wrong == "weights":
        bias = model.output_layer.bias
        bias.assign(bias + np.nan)
    else:
        search = GreedySearch(max_length=4, forbidden_ids=range(WORDS))
    for _ in range(2):
        with pytest.warns(
            UserWarning, match="no hypothesis for 3 of 3"
        ) as told:
            found = model.generate(draw(3, 4), search)
        assert [x.category for x in told].count(UserWarning) == 1
        assert np.isneginf(ops.convert_to_numpy(found.scores)).all()
        assert not ops.convert_to_numpy(found.lengths).any()


@pytest.mark.parametrize("rows", [1, 0, 3])
def test_phrases_of_any_shape_share_a_program(model, rows):
    source = draw(rows, 4)
    for phrase in ([[4, 5], [6, 0]], [[4], [6]], [[7]], [[4], [5], [6]]):
        phrases = np.array([phrase] * rows).reshape(rows, *np.shape(phrase))
        search = RequiredPhrases(BeamSearch(8, max_length=5), phrases)
        tokens = to_numpy(model.generate(source, search))[0]
        assert tokens.shape == (rows, 1, 5)
        words = {x for x in np.ravel(phrase).tolist() if x}
        assert all(words <= {*text} for text in tokens[:, 0].tolist())
    more = RequiredPhrases(BeamSearch(8), np.full((rows + 1, 1, 1), 4))
    with pytest.raises(ValueError, match="a row for each source"):
        model.generate(source, more)


# Which searches share a program.


SOURCE = np.ones((2, 8), "int32")


class Table:
    """A model that is a table, and lists what is traced."""

    uses_xla, pads_freely = False, True
    compiles_each_shape = BACKEND == "jax"
    source_vocabulary_size = WORDS
    version, variables = 0, ()

    def __init__(self):
        numbers = np.random.default_rng(0).normal(size=(WORDS, WORDS))
        self.log_probs = ops.log_softmax(2 * numbers.astype("float32"))
        self.traced = []  # searches, and shapes of source and prefix
        self.programs = Programs()

    def search(self, source, search, prefix=None, *_, **options):
        shapes = (tuple(x.shape) for x in (source, prefix) if x is not None)
        self.traced.append((search, *shapes))

        def step(tokens, state):
            found = ops.take(self.log_probs, tokens, axis=0)
            shape = (*ops.shape(tokens), ops.shape(source)[1])
            return found, state, ops.ones(shape)

        rows = ops.shape(source)[0]
        return search(step, (), rows, prefix=prefix, **options)

    def generate(self, search, source=SOURCE, prefix=None):
        source = ops.convert_to_tensor(source)
        return search_compiled(self, source, search, prefix)


@pytest.fixture
def table(monkeypatch):
    monkeypatch.setattr(generation, "search_words", Table.search)
    return Table()


SHARED = {
    "limits": [GreedySearch(n) for n in (6, 5, 4, 3)],
    "limits of beams": [
        BeamSearch(3, 2, length_penalty=1.0, max_length=n) for n in (6, 4, 3)
    ],
    "seeds": [Sampling(seed=n, max_length=4) for n in (0, 1, 0)],
    "temperatures": [
        Sampling(t, seed=0, max_length=4, top_k=9) for t in (1.0, 0.1, 3.0)
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("searches", SHARED.values(), ids=SHARED)
def test_what_differs_in_numbers_is_compiled_once(table, searches):
    copies = [type(x)(**x.get_config()) for x in searches]
    source = ops.convert_to_tensor(SOURCE)
    wanted = [table.search(source, x) for x in copies for _ in range(2)]
    table.traced.clear()
    found = [table.generate(x) for x in searches for _ in range(2)]
    assert len(table.traced) == (len(found) if BACKEND == "torch" else 1)
    for x, y in zip(found, wanted, strict=True):
        assert_same(x, y)
    assert len({to_numpy(x)[0].tobytes() for x in found}) > 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lengths", "sizes"),
    [((5, 9, 11, 10, 12), {5, 12}), ((100, 50, 49), {100, 64})],
)
def test_the_first_has_no_room_to_spare_and_others_little(
    table, lengths, sizes
):
    for length in lengths:
        found = table.generate(BeamSearch(2, max_length=length))
        assert found.tokens.shape == (2, 1, length)
        assert found.weights.shape == (2, 1, length, 8)
    assert {x.max_length for x, *_ in table.traced} == sizes


@pytest.mark.slow
def test_threads_compile_a_search_once(table):
    def work(n):
        together.wait()
        search = GreedySearch(4 - n % 2, end_id=4 + n % 3)
        return search, table.generate(search)

    together = threading.Barrier(8)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    traced = [(x.end_id, x.max_length) for x, *_ in table.traced]
    for search, result in found:
        wanted = table.search(ops.convert_to_tensor(SOURCE), search)
        assert_same(result, wanted)
    assert {end for end, _ in traced} == {4, 5, 6}
    assert BACKEND == "torch" or len(set(traced)) == len(traced)


class Beginning(GreedySearch):
    """Has an option that its config does not know."""

    def __init__(self, word):
        super().__init__(max_length=2)
        self.word = word

    def call(self, step, state, batch_size, memory_mask=None, prefix=None):
        word = ops.full((batch_size, 1), self.word, "int32")
        return super().call(step, state, batch_size, memory_mask, word)


class Lucky(GreedySearch):
    """Draws its first word by a generator."""

    def __init__(self, word):
        super().__init__(max_length=2)
        self.own = keras.random.SeedGenerator(word)

    def call(self, step, state, batch_size, memory_mask=None, prefix=None):
        word = keras.random.randint((batch_size, 1), 4, WORDS, seed=self.own)
        return super().call(step, state, batch_size, memory_mask, word)


def beginning(word):
    def search(step, state, rows, memory_mask=None, prefix=None):
        return Beginning(word)(step, state, rows)

    return search


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Beginning, beginning])
def test_searches_with_other_attributes_share_nothing(table, kind):
    for word in (5, 6):  # each search dies before the next
        found = table.generate(kind(word))
        assert to_numpy(found)[0][:, 0, 0].tolist() == [word, word]


def test_searches_with_the_same_attributes_share_a_program(table):
    for _ in range(2):
        table.generate(Beginning(5))
    assert len(table.traced) == (2 if BACKEND == "torch" else 1)


def test_a_search_of_ones_own_draws_anew_at_each_call(table):
    search = Lucky(0)
    found = [to_numpy(table.generate(search))[0][0, 0, 0] for _ in range(9)]
    assert len(set(found)) > 2
    again = Lucky(0)
    assert to_numpy(table.generate(again))[0][0, 0, 0] == found[0]


def test_a_subclass_has_its_options_as_numbers(table):
    class Reading(GreedySearch):
        def call(self, *args, **kwargs):
            read.append(range(self.max_length))
            return super().call(*args, **kwargs)

    read = []
    for n in (4, 2):
        assert table.generate(Reading(n)).tokens.shape == (2, 1, n)
        assert read[-1] == range(n)


# At which sizes they run.


@pytest.mark.tensorflow
def test_ids_of_any_size_are_traced_once(table):
    """And once more with a prefix."""
    for rows, length in ((2, 7), (2, 4), (1, 9)):
        source = draw(rows, length)
        table.generate(GREEDY, source)
        table.generate(GREEDY, source, draw(rows, length))
    assert len(table.traced) == 2


@pytest.fixture
def each_shape(monkeypatch):
    """As where XLA compiles, at the cost of none."""
    for kind in (AbstractModel, Table):
        monkeypatch.setattr(kind, "compiles_each_shape", True)


@pytest.mark.slow
@pytest.mark.usefixtures("each_shape")
@pytest.mark.parametrize(
    ("rows", "length"),
    some([(5, 1), (2, 7), (1, 9), *itertools.product([1, 2, 5], [2, 6, 8])], 3),
)
def test_what_is_padded_is_cut_again(model, rows, length):
    model.programs = Programs()
    source = draw(rows, length)
    assert_same(model.generate(source, GREEDY), plain(model, source, GREEDY))


@pytest.mark.usefixtures("each_shape")
@pytest.mark.parametrize("pads", [True, False])
def test_sizes_are_few_and_none_is_seen(table, pads):
    """Sources keep their length for an encoder that reads padding."""
    source, prefix = (ops.convert_to_tensor(draw(5, n)) for n in (9, 3))
    table.pads_freely, table.uses_xla = pads, True
    found = table.generate(GREEDY, source, prefix)
    assert table.traced[0][1:] == ((6, 12 if pads else 9), (6, 8))
    assert_same(found, table.search(source, GREEDY, prefix))


@pytest.mark.filterwarnings("ignore:.*destroy the mask information")
def test_models_say_whether_sources_may_be_padded(model):
    conv = keras.layers.Conv1D(6, 3, padding="same")
    reads = make_model(encoder=conv, bridge=None)
    texts = LanguageModel(WORDS, 4, keras.layers.GRUCell(3))
    for kind in (model, texts, Ensemble([model] * 2)):
        assert kind.pads_freely
        assert ShallowFusion(kind, texts, 0.3).pads_freely
    for kind in (reads, Ensemble([model, reads])):
        assert not kind.pads_freely
        assert not ShallowFusion(kind, texts, 0.3).pads_freely


@pytest.mark.usefixtures("each_shape")
def test_features_are_left_as_they_are(table):
    table.source_vocabulary_size = None
    table.generate(GREEDY, ops.ones((5, 3, 2)))
    assert table.traced[0][1:] == ((5, 3, 2),)


def test_an_empty_batch_runs_as_one_row(model):
    found = model.generate(draw(2, 7)[:0], GREEDY, prefix=draw(2, 3)[:0])
    shapes = [tuple(x.shape) for x in found]
    assert shapes == [(0, 1, 5), (0, 1), (0, 1), (0, 1, 5, 7), (0, 1, 5)]
    found = model.generate(draw(2, 7)[:0], GREEDY, None, False)
    assert found.weights is None


# It is that of the model as it is.


def test_it_goes_on_with_the_weights_of_today(model):
    source = draw(2, 5)
    before = to_numpy(model.generate(source, GREEDY))
    weights = model.get_weights()
    model.set_weights([2 * w for w in weights])
    assert_same(model.generate(source, GREEDY), plain(model, source, GREEDY))
    model.set_weights(weights)
    assert_same(model.generate(source, GREEDY), before)


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
@pytest.mark.parametrize("change", [quantize, enable_lora])
def test_it_goes_on_with_the_variables_of_today(change):
    model = make_model()
    source = draw(2, 5)
    before, version = to_numpy(model.generate(source, GREEDY)), model.version
    change(model)
    found = model.generate(source, GREEDY)
    assert_same(found, plain(model, source, GREEDY))
    assert np.abs(to_numpy(found)[1] - before[1]).max() > 0.01
    assert model.version == version + 1
    words = to_numpy(found)[0][:, 0]
    logits = model((source, np.pad(words, ((0, 0), (1, 0)))[:, :-1] + START))
    best = np.argmax(ops.convert_to_numpy(logits) - NEVER, axis=-1)
    np.testing.assert_array_equal(np.where(words, best, 0), words)


@pytest.mark.filterwarnings("ignore:.*destroy the mask information")
@pytest.mark.parametrize("depth", [1, 0])
def test_an_encoder_that_reads_padding_gets_none(depth):
    """Where XLA compiles, that is for each length of its own."""
    encoder = keras.layers.Conv1D(8, 3, padding="same")
    if depth:
        gru = keras.layers.GRU(8, return_sequences=True)
        encoder = keras.Sequential([encoder, gru])
    model = make_model(encoder=encoder, bridge=None)
    model.compile("sgd", jit_compile=BACKEND == "tensorflow")
    source = draw(3, 5)
    assert_same(model.generate(source, GREEDY), plain(model, source, GREEDY))


def run_at_each_step(layer):
    return keras.layers.TimeDistributed(keras.Sequential([layer]))


FIRST = {
    "conv": lambda: keras.layers.Conv1D(6, 3, padding="same"),
    "function": lambda: keras.layers.Lambda(lambda x: ops.tanh(x[..., 1:])),
    "steps": lambda: run_at_each_step(keras.layers.Dense(6)),
}


@pytest.mark.parametrize("name", FIRST)
def test_features_of_several_lengths(name):
    """A graph that knows no length has the numbers of one that does."""
    gru = keras.layers.GRU(8, return_sequences=True)
    encoder = keras.Sequential([FIRST[name](), gru])
    model = built_model(8, features=5, bridge=None, encoder=encoder)
    for length in (4, 7, 3):
        source = np.random.default_rng(length).normal(size=(2, length, 5))
        source = source.astype("float32")
        if name == "steps" and length != 4 and BACKEND == "tensorflow":
            with pytest.raises(ValueError, match="a TimeDistributed of Seq"):
                model.generate(source, GREEDY)
        else:
            found = model.generate(source, GREEDY)
            assert_same(found, plain(model, source, GREEDY))
