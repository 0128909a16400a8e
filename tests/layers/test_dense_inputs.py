import inspect

import keras
import numpy as np
import pytest
from mechanisms import ALONE
from mechanisms import MECHANISMS
from ready import EAGER
from seq2seqs import SOURCE
from seq2seqs import TARGET
from seq2seqs import built_model
from seq2seqs import small_language_model

import keras_attention as ka

X = np.ones((3, 5, 6), "float32")
LOGITS = np.zeros((3, 4, 9), "float32")
MASK = np.arange(5) < np.array([[5], [3], [4]])
CELL = ka.AttentionDecoderCell(keras.layers.GRUCell(6), ka.DotAttention())
LAYERS = {
    **{name: lambda x=x: x("softmax") for name, x in MECHANISMS.items()},
    **ALONE,
    "pooling": lambda: ka.AttentionPooling(4),
    "self": lambda: ka.SelfAttention(ka.DotAttention()),
    "graph": lambda: ka.GraphAttention(4),
    "encoder": lambda: ka.RecurrentEncoder(4),
    "decoder": lambda: ka.AttentionDecoder(CELL),
    "bridge": lambda: ka.StateBridge(),
}
MODEL = built_model(
    encoder=keras.layers.GRU(8, return_sequences=True), bridge=None
)
KINDS = ["ragged", "sparse", "lists"]


def uneven(x, kind):
    """Return an array as a ragged or a sparse tensor, or as uneven lists."""
    lists = [row[: len(row) - i % 2].tolist() for i, row in enumerate(x)]
    if kind == "lists":
        return lists
    if keras.backend.backend() != "tensorflow":
        pytest.skip("TensorFlow alone has such tensors")
    tf = pytest.importorskip("tensorflow")
    if kind == "sparse":
        return tf.sparse.from_dense(x)
    return tf.ragged.constant(lists, dtype=x.dtype)  # no axis has a size


def refuses(name, kind):
    kind = {"lists": "lists of different lengths"}.get(kind, f"a {kind} tensor")
    message = rf"Received: {name}=.*{kind}.*`\.to_tensor\(\)`.*mask"
    return pytest.raises(ValueError, match=rf"(?s){message}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layer", LAYERS)
def test_layers_name_what_is_not_dense(layer, kind):
    layer = LAYERS[layer]()
    names = list(inspect.signature(layer.call).parameters)[:2]
    for name in names:
        if name in ("training", "mask"):
            continue
        given = {n: MASK if "mask" in n else X for n in names}
        given[name] = uneven(X, kind)
        with refuses(name, kind):
            layer(**given)
    for name in ("mask", "value_mask", "memory_mask"):
        if name in inspect.signature(layer.call).parameters:
            with refuses(name, kind):
                layer(X, X, **{name: uneven(MASK.astype("int32"), kind)})


@pytest.mark.parametrize("kind", KINDS)
def test_attention_without_a_call_does_so_too(kind):
    layer = ka.DotAttention()
    layer.build(X.shape, X.shape)
    with refuses("value", kind):
        layer.prepare(uneven(X, kind))
    with refuses("query", kind):
        layer.step(uneven(X, kind), layer.prepare(X))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["generate", "score", "attend", "fit"])
def test_models_name_what_is_not_dense(method, kind):
    model = MODEL
    if method == "fit":
        model.compile(loss=ka.SequenceCrossentropy(), **EAGER)
    given = {"source": SOURCE, "target": TARGET}
    given = {"source": SOURCE} if method == "generate" else given
    for name, x in given.items():
        changed = {**given, name: uneven(x, kind)}
        with refuses(name, kind):
            if method == "fit":
                model.fit(tuple(changed.values()), TARGET)
            else:
                getattr(model, method)(**changed)


@pytest.mark.parametrize("kind", KINDS)
def test_calls_of_models_do_so_too(kind):
    for model, inputs in (
        (MODEL, (uneven(SOURCE, kind), TARGET)),
        (MODEL, (SOURCE, uneven(TARGET, kind))),
        (small_language_model(), uneven(TARGET, kind)),
    ):
        with refuses("inputs", kind):
            model(inputs)
    with refuses("y", kind):
        MODEL.fit((SOURCE, TARGET), uneven(TARGET, kind))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "loss",
    [
        ka.SequenceCrossentropy(),
        ka.EntmaxLoss(),
        ka.GuidedAlignmentLoss(),
        ka.TokenAccuracy(),
        ka.Perplexity(),
        ka.AttentionEntropy(),
    ],
)
def test_losses_and_metrics_name_what_is_not_dense(loss, kind):
    true = LOGITS if isinstance(loss, ka.GuidedAlignmentLoss) else TARGET
    with refuses("y_true", kind):
        loss(uneven(true, kind), LOGITS)
    with refuses("y_pred", kind):
        loss(true, uneven(LOGITS, kind))
    with refuses("sample_weight", kind):
        loss(true, LOGITS, uneven(np.ones((3, 4)), kind))


def test_searches_name_a_mask_that_is_not_dense():
    def step(tokens, state):
        return LOGITS[:1, :1], state, None

    with refuses("memory_mask", "lists"):
        ka.GreedySearch()(step, (), 1, memory_mask=uneven(MASK, "lists"))


def test_inputs_in_a_list_are_told_the_way_to_call():
    message = r"`value`.*query=a list of 2\. Call it as layer\(query, value\)"
    for layer in (ka.BahdanauAttention(3), ka.MultiHead(ka.DotAttention(), 2)):
        with pytest.raises(TypeError, match=message):
            layer([X, X])


def test_none_in_place_of_inputs_is_named():
    message = r"BahdanauAttention needs `value`.*query, value=None"
    with pytest.raises(TypeError, match=message):
        ka.BahdanauAttention(3)(X, None)


def test_the_mask_of_layers_of_keras_has_other_names():
    message = "BahdanauAttention takes no `mask`.*query_mask, value_mask"
    with pytest.raises(TypeError, match=message):
        ka.BahdanauAttention(3)(X, X, mask=[None, MASK])


@pytest.mark.parametrize("inputs", [X[:, 0], keras.Input((6,))])
def test_a_query_for_each_row_is_told_its_axis(inputs):
    for layer in (ka.BahdanauAttention(3), ka.MultiHead(ka.DotAttention(), 2)):
        with pytest.raises(ValueError, match=r"`query`.*query\[:, None\]"):
            layer(inputs, X)
