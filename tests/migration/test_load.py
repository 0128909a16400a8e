"""load_tfa_weights: our models compute what those of TFA have computed."""

import functools

import keras
import numpy as np
import pytest
import samples
from gradients import to_numpy
from tfa_cases import BEAMS
from tfa_cases import CASES
from tfa_cases import END
from tfa_cases import FILES
from tfa_cases import SOURCE
from tfa_cases import STEPS
from tfa_cases import TARGET
from tfa_programs import GOLDEN
from tfa_programs import decode
from tfa_programs import make_model
from tfa_programs import variables
from tfa_programs import wanted
from tiers import some

import keras_attention as ka
from keras_attention import load_tfa_weights
from keras_attention.models.generation import word_step

REAL = TARGET != 0
PATHS = {
    "checkpoint": "checkpoint/ckpt-1",
    "h5": "program.h5",
    "weights.h5": "program.weights.h5",
    "saved_model": "saved_model",
}
every_case = pytest.mark.parametrize("name", CASES)
third = [*CASES][::3]
some_cases = pytest.mark.parametrize(
    "name", some([*third, *(x for x in CASES if x not in third)], len(third))
)


@functools.cache
def loaded(name):
    """Our model of a case, with the weights of TFA's."""
    model = make_model(name)
    load_tfa_weights(model, dict(variables(name, "objects")))
    return model


@pytest.fixture(autouse=True, scope="module")
def forget():
    yield
    loaded.cache_clear()


def assert_same(model, name):
    logits, *weights = decode(model)
    np.testing.assert_allclose(
        logits[REAL], wanted(name, "logits")[REAL], atol=1e-5
    )
    for i, one in enumerate(weights):
        theirs = wanted(name, f"alignments_{i}")[REAL]
        np.testing.assert_allclose(one[REAL], theirs, atol=1e-6)


def generate(model, search):
    """Search without a compiled program, which takes longer to make."""
    prepared, state, *_ = model.begin(SOURCE)
    step = word_step(model, prepared, (0, 2))
    return [to_numpy(x) for x in search(step, state, len(SOURCE))[:3]]


@pytest.mark.slow
@every_case
def test_computes_what_tfa_computed(name):
    model = loaded(name)
    assert_same(model, name)
    scopes = dict(variables(name, "names"))
    if len(scopes) < len(variables(name)):
        return  # two layers with one name: no dictionary can hold them
    ours = [to_numpy(x) for x in model.weights]
    samples.randomize(model)
    load_tfa_weights(model, scopes)
    for one, other in zip(ours, model.weights, strict=True):
        np.testing.assert_array_equal(one, to_numpy(other))


@some_cases
def test_greedy_search_finds_the_same(name):
    search = ka.GreedySearch(max_length=STEPS)
    words, _, lengths = generate(loaded(name), search)
    theirs, own = wanted(name, "greedy"), wanted(name, "greedy_lengths")
    np.testing.assert_array_equal(lengths[:, 0], own)
    for row, length in enumerate(own):
        np.testing.assert_array_equal(
            words[row, 0, :length], theirs[row, :length]
        )


@pytest.mark.slow  # all of them together
@some_cases
def test_beam_search_finds_the_same(name):
    """TFA fills a hypothesis with its end, ours with 0."""
    search = ka.BeamSearch(BEAMS, n_best=BEAMS, max_length=STEPS)
    words, scores, lengths = generate(loaded(name), search)
    np.testing.assert_allclose(scores, wanted(name, "scores"), atol=1e-5)
    theirs = wanted(name, "beams")
    size = theirs.shape[-1]
    real = np.arange(STEPS) < lengths[..., None]
    ours = np.where(real, words, END)[..., :size]
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("form", FILES)
def test_reads_every_kind_of_file(form):
    if form in ("checkpoint", "saved_model"):
        pytest.importorskip("tensorflow", reason="TensorFlow wrote the file")
    name = FILES[form]
    model = make_model(name)
    load_tfa_weights(model, GOLDEN / PATHS[form])
    assert_same(model, name)


# Parts of a program.


def under(name, *words):
    """Variables of a program whose names have one of these words."""
    found = variables(name, "names")
    return {k: x for k, x in found if any(word in k for word in words)}


WRAPPER = ("attention_wrapper", "Attention/")


def test_a_decoder_and_its_cell_take_a_wrapper():
    whole = loaded("normalized")
    for part in ("decoder", "cell"):
        model = make_model("normalized")
        target = model.decoder if part == "decoder" else model.decoder.cell
        load_tfa_weights(target, under("normalized", *WRAPPER))
        for one, other in zip(
            whole.decoder.weights, model.decoder.weights, strict=True
        ):
            np.testing.assert_array_equal(to_numpy(one), to_numpy(other))


def test_an_attention_takes_a_mechanism():
    layer = ka.LuongGeneral()
    layer.build((None, None, 2), (None, None, 3))
    kernel = samples.draw(3, 2, dtype="float32")
    load_tfa_weights(layer, {"LuongAttention/memory_layer/kernel:0": kernel})
    np.testing.assert_array_equal(to_numpy(layer.kernel), kernel.T)


def test_a_keras_cell_takes_its_weights():
    cell = keras.layers.GRUCell(3)
    cell.build((None, 2))
    values = {"kernel": (2, 9), "recurrent_kernel": (3, 9), "bias": (2, 9)}
    values = {k: samples.draw(*x) for k, x in values.items()}
    load_tfa_weights(
        cell, {f"a/gru_cell_7/{k}:0": x for k, x in values.items()}
    )
    for name, value in values.items():
        got = to_numpy(getattr(cell, name))
        np.testing.assert_allclose(got, value, atol=1e-7)


def test_a_prefix_takes_one_of_two_wrappers():
    ours, theirs = variables("additive"), variables("own_layer")
    both = {
        **{f"first/{k.partition('/')[2]}": 2 * x for k, x in ours},
        **{f"second/{k.partition('/')[2]}": x for k, x in theirs},
    }
    model = make_model("own_layer")
    with pytest.raises(ValueError, match="Left over"):
        load_tfa_weights(model, both)
    load_tfa_weights(model, both, prefix="second")
    assert_same(model, "own_layer")


def test_a_prefix_finds_the_memory_that_is_set_outside():
    source = dict(variables("additive"))
    wrapper = next(k for k in source if "attention_v" in k)
    prefix = wrapper.partition("/BahdanauAttention")[0]
    model = make_model("additive")
    load_tfa_weights(model.decoder, source, prefix)
    np.testing.assert_array_equal(
        to_numpy(model.decoder.cell.attention.key_kernel),
        to_numpy(loaded("additive").decoder.cell.attention.key_kernel),
    )


# What does not fit.


@pytest.fixture(scope="module")
def model():
    return make_model("additive")


def refused(model, source, match, **options):
    """The error, after which every weight is as before."""
    before = [to_numpy(x) for x in model.weights]
    with pytest.raises(ValueError, match=match) as error:
        load_tfa_weights(model, source, **options)
    for one, other in zip(before, model.weights, strict=True):
        np.testing.assert_array_equal(one, to_numpy(other))
    return str(error.value)


def test_all_that_does_not_fit_is_named(model):
    source = dict(variables("additive"))
    gone = next(k for k in source if "memory_layer" in k)
    bent = next(k for k in source if "attention_v" in k)
    del source[gone]
    source[bent] = np.ones(4, "float32")
    source["more/kernel:0"] = np.ones((1, 2), "float32")
    said = refused(model, source, "Nothing was changed")
    missing, _, rest = said.partition("Left over")
    assert "key_kernel (6, 5)" in missing
    assert "more/kernel:0 (1, 2)" in rest
    assert f"{bent} (4,)" in rest
    assert "score_vector takes (5,)" in rest


def test_weights_that_are_no_numbers_are_named(model):
    source = dict(variables("additive"))
    bent = next(k for k in source if "attention_v" in k)
    source[bent] = np.full_like(source[bent], np.nan)
    assert bent in refused(model, source, "NaN")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"prefix": "nowhere"}, "prefix='nowhere'"),
        ({"prefix": None}, "prefix=None"),
        ({"source": [1]}, "dictionary"),
        ({"source": "no/such/ckpt-1"}, "no/such/ckpt-1"),
    ],
)
def test_a_wrong_argument_says_so(model, options, match):
    given = {"source": dict(variables("additive")), **options}
    refused(model, match=match, **given)


def test_an_order_that_tfa_does_not_have():
    cell = ka.AttentionDecoderCell(
        keras.layers.GRUCell(3), ka.BahdanauAttention(2)
    )
    cell.build((None, None, 2), (None, None, 4))
    refused(cell, {}, "order='luong'")


def test_tied_embeddings_have_two_scales():
    tied = make_model("normalized", tie_embeddings=True)
    refused(tied, dict(variables("normalized")), "tie_embeddings")


def test_an_attention_that_tfa_does_not_have():
    layer = ka.DotAttention()
    layer.build((None, None, 2), (None, None, 2))
    refused(layer, {}, "BahdanauAttention or LuongGeneral")


def test_a_target_needs_its_weights():
    match = "load_tfa_weights needs .* BahdanauAttention with built=False"
    with pytest.raises(ValueError, match=match):
        load_tfa_weights(ka.BahdanauAttention(3), {})


def test_a_layer_that_is_not_linear_is_told():
    model = make_model("normalized")
    model.decoder.cell.attention_activation = keras.activations.tanh
    with pytest.warns(UserWarning, match="attention_activation=None"):
        load_tfa_weights(model, dict(variables("normalized", "names")))
