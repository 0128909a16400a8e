"""The beam search of TensorFlow Addons, in a `tf.function`."""

import math

import tensorflow as tf
import tensorflow_addons as tfa
from draws import decoder_of_search
from sides.decoder_tfa import wrap
from sides.serve import serve
from works import END
from works import START
from works import SearchWork


def make(work: dict, arrays: dict, mode: str):  # noqa: ARG001 (it has one mode)
    """Make the search, which returns all hypotheses, best first."""
    work = SearchWork(**work)
    cell = tf.keras.layers.LSTMCell(work.units)
    wrapper, attention, _ = wrap(decoder_of_search(work), arrays, [cell])
    output_layer = tf.keras.layers.Dense(work.vocabulary)
    output_layer.build((None, work.units))
    output_layer.set_weights([arrays["output_kernel"], arrays["output_bias"]])
    table = tf.constant(math.sqrt(work.size) * arrays["embeddings"])
    memory = tf.constant(arrays["memory"])
    decoder = tfa.seq2seq.BeamSearchDecoder(
        wrapper,
        work.beams,
        output_layer=output_layer,
        maximum_iterations=work.steps,
    )

    @tf.function
    def search(memory):
        tiled = tfa.seq2seq.tile_batch(memory, work.beams)
        attention(tiled, setup_memory=True)
        found, _, _ = decoder(
            table,
            start_tokens=tf.fill((work.batch,), START),
            end_token=END,
            initial_state=wrapper.get_initial_state(
                batch_size=work.batch * work.beams, dtype=tf.float32
            ),
        )
        scores = found.beam_search_decoder_output.scores
        return found.predicted_ids, scores[:, -1]  # (B, T, K), (B, K)

    def run():
        return [x.numpy() for x in search(memory)]

    def numbers():
        tokens, scores = run()
        return {"tokens": tokens[:, :, 0], "scores": scores}

    return run, numbers


if __name__ == "__main__":
    serve(make)
