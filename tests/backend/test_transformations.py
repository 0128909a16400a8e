"""What JAX and torch do with every layer, a decoder in training allows."""

import importlib

import keras
import numpy as np
import pytest
import samples
from gradients import to_numpy
from keras import ops
from seq2seqs import small_model

import keras_attention as ka
from keras_attention.attention import sequences

BACKEND = importlib.import_module(keras.backend.backend())
on_jax = pytest.mark.skipif(keras.backend.backend() != "jax", reason="JAX")
on_torch = pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="torch"
)
MASK = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], bool)
IDS = np.array([[1, 2, 3], [2, 4, 0]])


@pytest.fixture(scope="module")
def loss():
    """Return a function of memories, inputs and `training`, all masked."""
    cell = ka.AttentionDecoderCell(
        keras.layers.GRUCell(5), ka.BahdanauAttention(4)
    )
    decoder = ka.AttentionDecoder(cell)
    decoder(draw(3), draw(4, 2))
    samples.randomize(decoder)
    masks = {"sequence_mask": IDS > 0, "memory_mask": MASK}

    def total(memory, x, training=True):
        outputs = decoder(x, memory, training=training, **masks)
        return ka.SequenceCrossentropy()(IDS, outputs) + ops.sum(outputs**2)

    total.decoder = decoder
    return total


def draw(steps, size=3, seed=0):
    drawn = np.random.default_rng(seed).normal(size=(2, steps, size))
    return ops.convert_to_tensor(drawn.astype("float32"))


def close(one, other):
    np.testing.assert_allclose(to_numpy(one), to_numpy(other), atol=1e-5)


def grad(function):
    return BACKEND.jit(BACKEND.grad(function))


@on_jax
def test_jax_checkpoints_and_scans(loss):
    x, memory = draw(3), draw(4, 2)
    wanted = grad(loss)(memory, x)
    assert np.abs(to_numpy(wanted)).max() > 1e-3
    close(grad(BACKEND.checkpoint(loss))(memory, x), wanted)

    def summed(memory):
        def add(total, x):
            return total + loss(memory, x), None

        return BACKEND.lax.scan(add, 0.0, ops.stack([x, x]))[0]

    close(grad(summed)(memory), 2 * wanted)


@on_jax
def test_jax_differentiates_arrays_and_maps(loss):
    """And what is not compiled, with an array of NumPy."""
    x, memory = draw(3), draw(4, 2)
    wanted = grad(loss)(memory, x)
    close(BACKEND.grad(loss)(to_numpy(memory), x), wanted)
    both = BACKEND.jit(BACKEND.vmap(BACKEND.grad(loss)))(
        ops.stack([memory, memory]), ops.stack([x, x])
    )
    close(both, ops.stack([wanted, wanted]))


@on_jax
def test_jax_goes_forward_outside_of_training(loss):
    x, memory = draw(3), draw(4, 2)

    def total(memory, training):
        return ops.sum(loss.decoder(x, memory, training=training) ** 2)

    def forward(training):
        return BACKEND.jvp(
            lambda memory: total(memory, training), [memory], [memory]
        )[1]

    slope = BACKEND.grad(total)(memory, False)
    for training in (False, None):
        close(forward(training), ops.sum(slope * memory))
    with pytest.raises(NotImplementedError, match="training=False"):
        forward(True)
    logits = draw(3, 5)
    slope = BACKEND.grad(ka.SequenceCrossentropy(), 1)(IDS, logits)
    one = BACKEND.jvp(
        lambda x: ka.SequenceCrossentropy()(IDS, x), [logits], [logits]
    )[1]
    close(one, ops.sum(slope * logits))


@on_torch
def test_torch_transforms_functions(loss):
    x, memory = draw(3), draw(4, 2)
    leaf = draw(4, 2).requires_grad_()
    (wanted,) = BACKEND.autograd.grad(loss(leaf, x), leaf)
    slope = BACKEND.func.grad(loss)
    close(slope(memory, x), wanted)

    def total(memory):
        return loss(memory, x)

    forward = BACKEND.func.jvp(total, (memory,), (memory,))[1]
    close(forward, ops.sum(wanted * memory))
    both = BACKEND.func.vmap(BACKEND.func.grad(total))
    close(both(ops.stack([memory, memory]))[1], wanted)


@on_torch
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_torch_transforms_an_encoder(cell):
    """The kernel for whole sequences has derivatives, but no `torch.func`."""
    encoder = ka.RecurrentEncoder(2, cell=cell, dtype="float64")

    def total(x):
        return ops.sum(encoder(x, mask=MASK[:1])[0] ** 2)

    x = draw(4).double()[:1]
    leaf, ones = x.clone().requires_grad_(), ops.ones_like(x)
    (wanted,) = BACKEND.autograd.grad(total(leaf), leaf, create_graph=True)
    (second,) = BACKEND.autograd.grad(ops.sum(wanted), leaf)
    slope = BACKEND.func.grad(total)
    close(slope(x), wanted.detach())
    close(BACKEND.func.jvp(slope, (x,), (ones,))[1], second)
    close(BACKEND.func.vmap(slope)(x[None])[0], wanted.detach())


@on_torch
def test_torch_transforms_what_is_recomputed(monkeypatch):
    monkeypatch.setattr(sequences, "FEW", 1)
    layer, query = ka.BahdanauAttention(4), draw(3)

    def total(memory):
        return ops.sum(layer(query, memory, training=True) ** 2)

    leaf = draw(4, 2).requires_grad_()
    (wanted,) = BACKEND.autograd.grad(total(leaf), leaf, create_graph=True)
    close(BACKEND.func.grad(total)(draw(4, 2)), wanted.detach())
    (second,) = BACKEND.autograd.grad(ops.sum(wanted), leaf)
    ones = ops.ones_like(leaf)
    close(
        BACKEND.func.jvp(BACKEND.func.grad(total), (leaf,), (ones,))[1], second
    )


@on_torch
@pytest.mark.parametrize("training", [False, None, True])
def test_torch_casts_a_decoder(loss, training):
    """Under `torch.autocast`, and backward outside of it."""
    found = []
    for enabled in (False, True):
        memory = draw(4, 2).requires_grad_()
        with BACKEND.autocast("cpu", BACKEND.bfloat16, enabled):
            total = loss(memory, draw(3), training)
        total.backward()
        found.append((total.detach(), memory.grad))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(
            *map(to_numpy, (one, other)), rtol=0.05, atol=0.02
        )


@on_torch
def test_torch_compiles(loss):
    compiled = BACKEND.compile(loss, backend="eager")
    found = []
    for run in (loss, compiled):
        memory = draw(4, 2).requires_grad_()
        total = run(memory, draw(3))
        total.backward()
        found.append((total.detach(), memory.grad))
    for one, other in zip(*found, strict=True):
        close(one, other)


@pytest.mark.slow
@on_torch
def test_torch_compiles_a_training():
    ids = np.random.default_rng(0).integers(4, 9, (2, 2))
    found = []
    for jit_compile in (False, True):
        keras.utils.set_random_seed(0)
        model = small_model()
        model.compile("sgd", ka.SequenceCrossentropy(), jit_compile=jit_compile)
        found.append(model.fit((ids, ids), ids, verbose=0).history["loss"])
    np.testing.assert_allclose(*found, rtol=1e-5)
