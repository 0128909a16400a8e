"""Writes the same model with TFA's decoder as a SavedModel, text to text."""

import math
from pathlib import Path

import tensorflow as tf
import tensorflow_addons as tfa
from draws import serving_words
from sides.fit_tfa import Translator
from sides.serve import serve
from works import END
from works import START
from works import FitWork
from works import ServingWork

TEXT = tf.TensorSpec([None], tf.string, "text")


class Served(tf.Module):
    """Reads words, encodes, searches, and writes words.

    Args:
        work: The sizes.
        weights: The weights, by the names of `works.py`.
    """

    def __init__(self, work: ServingWork, weights: dict):
        super().__init__()
        self.work = work
        names = serving_words(work)
        ids = tf.range(END + 1, work.vocabulary)
        self.ids = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(tf.constant(names), ids), 1
        )
        self.names = tf.Variable(["", "<unk>", "", "", *names])
        scaled = math.sqrt(work.size) * weights["target_embeddings"]
        self.table = tf.Variable(scaled)
        # A function, since a module's layers would be saved as layers.
        model = Translator(FitWork(*work[:3]), weights)
        model([tf.ones((1, 2), tf.int32)] * 2)
        self.held = model.variables
        self.parts = lambda: model

    @tf.function(input_signature=[TEXT])
    def translate(self, text):
        framed = tf.strings.join(["<s> ", text, " </s>"])
        words = tf.strings.split(framed).to_tensor("")
        ids = self.ids.lookup(words)
        ids = tf.where(words == "<s>", START, tf.where(words == "", 0, ids))
        ids = tf.where(words == "</s>", END, ids)
        tokens, scores = self._search(ids)
        texts = tf.gather(self.names, tokens)
        texts = tf.strings.reduce_join(texts, axis=1, separator=" ")
        return {"translations": texts, "scores": scores}

    def _search(self, ids):
        """Search from ids to the best tokens `(B, T)` and scores `(B,)`."""
        model, mask = self.parts(), tf.not_equal(ids, 0)
        words = model.scale * model.source_embedding(ids)
        memory, *states = model.encoder(words, mask=mask)
        states = [tf.concat(states[i::2], -1) for i in range(2)]
        search = self._beam if self.work.beams > 1 else self._greedy
        return search(model, memory, mask, states, tf.shape(ids)[0])

    def _greedy(self, model, memory, mask, states, rows):
        sampler = tfa.seq2seq.GreedyEmbeddingSampler()
        decoder = tfa.seq2seq.BasicDecoder(
            model.wrapper,
            sampler,
            model.output_layer,
            maximum_iterations=self.work.steps,
        )
        model.attention(memory, mask=mask, setup_memory=True)
        found, _, _ = decoder(
            self.table.value(),
            start_tokens=tf.fill([rows], START),
            end_token=END,
            initial_state=self._state(model, states, rows),
        )
        return found.sample_id, tf.zeros([rows])  # it gives no scores

    def _beam(self, model, memory, mask, states, rows):
        beams = self.work.beams
        decoder = tfa.seq2seq.BeamSearchDecoder(
            model.wrapper,
            beams,
            output_layer=model.output_layer,
            maximum_iterations=self.work.steps,
        )
        memory, mask, *states = (
            tfa.seq2seq.tile_batch(x, beams) for x in (memory, mask, *states)
        )
        model.attention(memory, mask=mask, setup_memory=True)
        found, _, _ = decoder(
            self.table.value(),
            start_tokens=tf.fill([rows], START),
            end_token=END,
            initial_state=self._state(model, states, beams * rows),
        )
        scores = found.beam_search_decoder_output.scores[:, -1, 0]
        return found.predicted_ids[:, :, 0], scores

    def _state(self, model, states, rows):
        state = model.wrapper.get_initial_state(
            batch_size=rows, dtype=tf.float32
        )
        return state.clone(cell_state=states)


def make(work: dict, arrays: dict, mode: str):  # noqa: ARG001 (files have none)
    """Write the SavedModel; there is nothing to run."""
    work = ServingWork(**work)
    folder = Path(work.folder) / "tfa" / "1"
    module = Served(work, arrays)
    signatures = {"serving_default": module.translate}
    tf.saved_model.save(module, str(folder), signatures)
    return (lambda: None), dict


if __name__ == "__main__":
    serve(make)
