"""The steps of a stream as TensorFlow functions with states by names."""

import keras
import numpy as np
import pytest
import streams
from streams import draw_ids
from streams import joined
from streams import make_model
from streams import streamed

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    from keras_attention.export.stream_graph import StreamGraph
    from keras_attention.export.stream_graph import probe_parts

SOURCE = draw_ids([6, 4])


@pytest.mark.slow
def test_state_goes_out_and_in_by_names():
    model = make_model()
    graph = StreamGraph(model, streams.LONGEST, 2, 3)
    start, push, end = graph.functions.values()
    state = start(tf.constant(2))
    names = list(state)
    assert names[:4] == ["encoder_0", "encoder_1", "decoder_0", "decoder_1"]
    steps = []
    for part in (SOURCE[:, :4], SOURCE[:, 4:]):
        state = push(tf.constant(part), *state.values())
        steps.append(words(state))
        state = {name: state[name] for name in names}
        assert all(x.shape[0] == 2 for x in state.values())
    steps.append(words(end(*state.values())))
    assert joined(steps) == joined(streamed(model, SOURCE, [6]))
    assert [x.name for x in end.input_signature] == names
    assert len({f.get_concrete_function() for f in (start, push, end)}) == 3


def words(answer):
    rows = zip(answer["tokens"].numpy(), answer["lengths"].numpy(), strict=True)
    return [ids[:n].tolist() for ids, n in rows]


@pytest.mark.slow
def test_a_memory_keeps_what_may_be_needed_alone():
    graph = StreamGraph(make_model(), streams.LONGEST, 2, 3)
    start, push, _ = graph.functions.values()
    state = start(tf.constant(1))
    names = list(state)
    for _ in range(3):
        state = push(tf.constant(SOURCE[:1]), *(state[x] for x in names))
    assert state["count"].numpy().tolist() == [18]
    assert state["keys_0"].shape[1] <= 6


def test_probes_are_of_the_models_kind():
    ids = probe_parts(make_model())
    assert [[x.shape for x in parts] for parts in ids] == [
        [(1, 1), (1, 4), (1, 2)],
        [(3, 5), (3, 3)],
    ]
    assert all(0 <= x.min() <= x.max() < streams.WORDS for x in ids[1])
    features = probe_parts(make_model(features=True))
    assert features[1][0].shape == (3, 5, streams.FEATURES)
    assert features[1][0].dtype == np.float32
