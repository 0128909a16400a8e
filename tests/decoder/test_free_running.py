"""FreeRunningDecoder: the decoder, told what it said itself."""

import keras
import numpy as np
import pytest
import samples
from gradients import differentiate
from gradients import to_tensor
from keras import ops
from ready import EAGER
from samples import BATCH
from samples import DIM
from samples import DV
from samples import assert_close
from samples import draw
from samples import first_states
from samples import make_cell
from samples import memory_mask
from samples import randomize
from samples import source
from samples import to_numpy

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import CoverageAttention
from keras_attention import FreeRunningDecoder
from keras_attention import LuongGeneral

STEPS = 6
NEAR = 1e-5 if samples.EXACT < 1e-9 else 3e-3  # what rounding leaves room for
TENSORFLOW = keras.backend.backend() == "tensorflow"
FULL = {"return_attention_scores": True, "return_state": True}
CASES = {
    "lstm": lambda: make_cell("lstm"),
    "fed": lambda: make_cell(
        "gru", "general", order="luong", attention_layer_size=7
    ),
    "stack": lambda: make_cell("stack", "heads", output="cell"),
    "coverage": lambda: make_cell(
        "gru", CoverageAttention(3, coverage_loss=0.5, dtype="float64")
    ),
    "two": lambda: make_cell(
        "gru",
        [BahdanauAttention(3, dtype="float64"), LuongGeneral(dtype="float64")],
    ),
    "none": lambda: make_cell("gru", None),
}


@keras.saving.register_keras_serializable("test_free_running")
def above_zero(prediction):
    return prediction[:, 0] > 0


@keras.saving.register_keras_serializable("test_free_running")
class Draw(keras.layers.Layer):
    """Draws from a Gaussian around the prediction."""

    def __init__(self, seed=5, **kwargs):
        super().__init__(**kwargs)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def call(self, x):
        noise = keras.random.normal(
            ops.shape(x), dtype=x.dtype, seed=self.seed_generator
        )
        return x + noise

    def compute_output_shape(self, shape):
        return shape

    def get_config(self):
        return {**super().get_config(), "seed": self.seed}


def make(case="lstm", steps=STEPS, units=DIM, **options):
    decoder = samples.build(AttentionDecoder(CASES[case](), dtype="float64"))
    readout = keras.layers.Dense(units, dtype="float64")
    layer = FreeRunningDecoder(
        decoder, readout, steps, dtype="float64", **options
    )
    layer.build(
        (None, DIM), (None, None, DV) if decoder.cell.attentions else None
    )
    randomize(layer, scale=0.7)
    return layer


def inputs(layer):
    """First input, memory, states and mask, as the cell needs them."""
    first = draw(BATCH, DIM, seed=20)
    states = first_states(layer.decoder)
    if not layer.decoder.cell.attentions:
        return first, None, states, None
    return first, source(), states, memory_mask()


def told(layer, given, predictions, mask=None):
    """What the decoder gives, and adds to losses, for told predictions."""
    first, memory, states, real = given
    sequence = np.concatenate([first[:, None], predictions[:, :-1]], axis=1)
    teacher = AttentionDecoder(layer.decoder.cell, **FULL, dtype="float64")
    masks = {"sequence_mask": mask, "memory_mask": real}
    outputs, *rest = teacher(sequence, memory, states, **masks)
    return layer.readout(outputs), rest, teacher.losses


@pytest.mark.parametrize("case", CASES)
def test_is_the_decoder_on_its_own_predictions(case):
    layer = make(case, **FULL)
    given = inputs(layer)
    predictions, *rest = layer(*given)
    assert predictions.shape == (BATCH, STEPS, DIM)
    wanted, others, losses = told(layer, given, to_numpy(predictions))
    assert_close(predictions, wanted)
    if case == "none":  # which has no weights to return
        others, rest = others[1:], rest[1:]
    assert_close(rest, others)
    assert len(layer.losses) == (case == "coverage")
    assert_close(layer.losses, losses)


@pytest.mark.parametrize("case", ["lstm", "fed", "coverage"])
def test_a_row_ends_where_stop_says(case):
    layer = make(case, stop=above_zero, return_lengths=True, **FULL)
    given = inputs(layer)
    predictions, lengths, *rest = to_numpy(layer(*given))
    assert len(set(lengths)) > 1
    for row, length in zip(predictions, lengths, strict=True):
        assert (row[: length - 1, 0] <= 0).all()
        assert length == STEPS or row[length - 1, 0] > 0
        assert (row[length:] == 0).all()
    mask = samples.mask(lengths, STEPS)
    wanted, others, _ = told(layer, given, predictions, mask)
    assert_close(predictions, to_numpy(wanted) * mask[..., None])
    assert_close(rest, others)


@pytest.mark.slow
def test_gradients_are_slopes():
    layer = make("fed")
    first, memory, states, real = inputs(layer)
    weight = draw(BATCH, STEPS, DIM, seed=30)

    def run(first, memory):
        found = layer(first, memory, states, real)
        return ops.sum(found * to_tensor(weight))

    arrays, variables = [first, memory], layer.trainable_variables
    ways = [None, "graph", "xla"] if TENSORFLOW else [None]
    if keras.backend.backend() == "jax":
        ways = ["xla"]
    directions = [draw(*x.shape, seed=n) for n, x in enumerate(arrays)]
    wanted = []
    for n, direction in enumerate(directions):
        ends = []
        for sign in (1, -1):
            moved = list(arrays)
            moved[n] = arrays[n] + sign * NEAR * direction
            ends.append(float(to_numpy(run(*map(to_tensor, moved)))))
        wanted.append((ends[0] - ends[1]) / (2 * NEAR))
    for way in ways:
        _, found = differentiate(run, arrays, variables, way)
        slopes = map(to_numpy, found[:2])
        got = [np.sum(x * y) for x, y in zip(slopes, directions, strict=True)]
        assert got == pytest.approx(wanted, abs=300 * NEAR**2), way
        assert all(np.abs(to_numpy(x)).max() > 0 for x in found[2:])


def test_what_is_drawn_differs_from_step_to_step():
    layers = [make("lstm", feed=Draw(dtype="float64")) for _ in range(2)]
    for layer in layers:
        for weight in layer.readout.weights:
            weight.assign(np.zeros(weight.shape))
    runs = [to_numpy(layer(*inputs(layer))) for layer in layers]
    np.testing.assert_array_equal(*runs)
    layer = make("lstm", feed=Draw(dtype="float64"))
    one, other = (to_numpy(layer(*inputs(layer))) for _ in range(2))
    np.testing.assert_array_equal(one[:, 0], other[:, 0])
    assert (one[:, 1:] != other[:, 1:]).all()


def model_of(layer):
    memory = keras.Input((None, DV), dtype="float64")
    first = keras.Input((DIM,), dtype="float64")
    return keras.Model([first, memory], layer(first, memory))


def test_symbols_have_the_shapes_of_tensors():
    options = {"return_lengths": True, **FULL}
    layer = make("two", stop=above_zero, **options)
    symbols = layer(
        keras.Input((DIM,), BATCH, dtype="float64"),
        keras.Input((samples.WORDS, DV), BATCH, dtype="float64"),
    )
    found = layer(*inputs(layer)[:2])
    symbols, found = map(keras.tree.flatten, (symbols, found))
    assert [tuple(x.shape) for x in symbols] == [tuple(x.shape) for x in found]
    kinds = [keras.backend.standardize_dtype(x.dtype) for x in found]
    assert [x.dtype for x in symbols] == kinds


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "float16"])
def test_numbers_of_sixteen_bits(policy):
    layers = []
    for dtype in (policy, "float64"):
        # The default cannot be drawn in float16 everywhere.
        own = {"recurrent_initializer": "glorot_uniform"}
        layer = FreeRunningDecoder(
            AttentionDecoder(make_cell(dtype=dtype, own=own), dtype=dtype),
            keras.layers.Dense(DIM, dtype=dtype),
            STEPS,
            stop=above_zero,
            return_lengths=True,
            **FULL,
            dtype=dtype,
        )
        layer.build((None, DIM), (None, None, DV))
        randomize(layer, scale=0.7)
        layers.append(layer)
    given = inputs(layers[1])
    found, wanted = (layer(*given) for layer in layers)
    narrow = layers[0].compute_dtype
    kinds = [keras.backend.standardize_dtype(x.dtype) for x in found]
    assert kinds == [narrow, "int32", narrow, narrow, narrow]  # h and c
    symbols = layers[0](*[keras.KerasTensor(x.shape) for x in given[:2]])
    assert [x.dtype for x in symbols] == kinds
    near = {"float16": 0.02, "bfloat16": 0.1}[narrow]
    for x, y in ((found[0], wanted[0]), (found[2], wanted[2])):
        assert_close(x[:, 0], y[:, 0], near)  # later ones follow what is fed


def test_it_is_saved_whole(tmp_path):
    layer = make("fed", feed=Draw(dtype="float64"), stop=above_zero)
    model = model_of(layer)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    given = [*inputs(layer)[:2]]
    assert_close(again(given), model(given))


@pytest.mark.slow
def test_a_decoder_is_taught_and_runs_free_in_one_model(tmp_path):
    free = make("fed")
    first, sequence, memory = (
        keras.Input(shape, dtype="float64")
        for shape in ((DIM,), (STEPS, DIM), (None, DV))
    )
    taught = free.readout(free.decoder(sequence, memory))
    model = keras.Model(
        [first, sequence, memory], [taught, free(first, memory)]
    )
    model.compile("sgd", ["mse", "mse"], **EAGER)
    start, value, *_ = inputs(free)
    given = [start, samples.sequence(steps=STEPS), value]
    target = draw(BATCH, STEPS, DIM, seed=30)
    before = to_numpy(model(given))
    model.fit(given, [target, target], batch_size=BATCH, verbose=0)
    after = to_numpy(model(given))
    for x, y in zip(before, after, strict=True):
        assert np.abs(x - y).max() > 1e-4
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert_close(again(given), after)
    run = again.get_layer(free.name)
    assert run.decoder is again.get_layer(free.decoder.name)
    assert run.readout is again.get_layer(free.readout.name)
    assert len(again.weights) == len(model.weights)


@pytest.mark.slow
@pytest.mark.tensorflow
def test_a_model_of_it_is_exported(tmp_path):
    import tensorflow as tf

    cell = AttentionDecoderCell(keras.layers.GRUCell(6), BahdanauAttention(5))
    layer = FreeRunningDecoder(
        AttentionDecoder(cell), keras.layers.Dense(DIM), 24, stop=above_zero
    )
    first, memory = keras.Input((DIM,)), keras.Input((5, DV))
    model = keras.Model([first, memory], layer(first, memory))
    randomize(model)
    given = [draw(2, DIM, dtype="float32"), draw(2, 5, DV, dtype="float32")]
    model.export(tmp_path / "saved", verbose=False)
    saved = tf.saved_model.load(str(tmp_path / "saved"))
    assert_close(saved.serve(given), model(given), 1e-5)
    if keras.__version__ < "3.13":
        return  # it writes no LiteRT
    from ai_edge_litert.interpreter import Interpreter

    model.export(tmp_path / "model.tflite", format="litert", verbose=False)
    run = Interpreter(str(tmp_path / "model.tflite")).get_signature_runner()
    names = sorted(run.get_input_details())
    one = [x[:1] for x in given]
    (found,) = run(**dict(zip(names, one, strict=True))).values()
    assert_close(found, to_numpy(model(one)), 1e-5)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"decoder": make_cell()},
            "`decoder` must be an instance of Attention",
        ),
        ({"readout": keras.layers.Dense}, "the class Dense"),
        ({"feed": 3}, "`feed` must be a layer or a registered function"),
        ({"feed": ""}, "`feed` must be a layer or a registered function"),
        ({"stop": 0}, "`stop` must be a layer or a registered function"),
        ({"steps": 0}, "`steps` must be a positive integer"),
    ],
)
def test_wrong_arguments(options, said):
    good = {
        "decoder": AttentionDecoder(make_cell()),
        "readout": keras.layers.Dense(DIM),
        "steps": 3,
    }
    with pytest.raises(ValueError, match=said):
        FreeRunningDecoder(**{**good, **options})


def test_what_is_fed_back_must_fit():
    with pytest.raises(ValueError, match="must have the size of `first`"):
        make("lstm", units=DIM + 1)
    layer = make("lstm")
    with pytest.raises(ValueError, match=r"shape \(B, D\), one input"):
        layer(samples.sequence(), source())
    first, memory = samples.sequence()[:, 0], source()
    with pytest.raises(ValueError, match="`first` and `memory` with the same"):
        layer(first[:1], memory)
    with pytest.raises(ValueError, match="`memory` with the 6 features"):
        layer(first, memory[..., :5])
    with pytest.raises(ValueError, match="`inputs` with the 3 features"):
        layer(first[:, :2], memory)


def test_a_functional_model_without_attention_has_no_weights():
    """Eagerly they are `None`, which Keras takes from no functional model."""
    decoder = AttentionDecoder(samples.make_cell(attention=None))
    layer = FreeRunningDecoder(
        decoder,
        keras.layers.Dense(DIM),
        steps=2,
        return_attention_scores=True,
        dtype="float64",
    )
    first = samples.sequence()[:, 0]
    assert layer(first)[1] is None
    with pytest.raises(
        ValueError, match="FreeRunningDecoder can return weights"
    ):
        layer(keras.Input((DIM,)))
