"""Programs of TensorFlow Addons, of a `Case`."""

import numpy as np
import tensorflow as tf
import tensorflow_addons as tfa
from tfa_cases import BEAMS
from tfa_cases import END
from tfa_cases import SIZE
from tfa_cases import SOURCE
from tfa_cases import SOURCE_WORDS
from tfa_cases import START
from tfa_cases import STEPS
from tfa_cases import TARGET
from tfa_cases import TARGET_WORDS
from tfa_cases import UNITS
from tfa_cases import Case

layers, seq2seq = tf.keras.layers, tfa.seq2seq
CELLS = {
    "lstm": layers.LSTMCell,
    "gru": layers.GRUCell,
    "gru_before": lambda units: layers.GRUCell(units, reset_after=False),
    "rnn": layers.SimpleRNNCell,
    "layer_norm": tfa.rnn.LayerNormLSTMCell,
}
ENCODERS = {"lstm": layers.LSTM, "gru": layers.GRU}
UNLIKELY = -40.0  # what the model says of padding and of the start


class Program(tf.keras.Model):
    """Embeds, encodes, decodes with attention, and scores the next word."""

    def __init__(self, case: Case):
        super().__init__()
        self.bridge, self.has_states = None, case.bridge != "none"
        self.source_embedding = layers.Embedding(SOURCE_WORDS, SIZE)
        self.target_embedding = layers.Embedding(TARGET_WORDS, SIZE)
        self.encoders = [
            layers.Bidirectional(
                ENCODERS[case.encoder](
                    UNITS // 2, return_sequences=True, return_state=True
                )
            )
            for _ in (case.cells if self.has_states else (0,))
        ]
        if case.bridge == "dense":
            self.bridge = [
                layers.Dense(UNITS, activation="tanh") for _ in range(2)
            ]
        self.mechanisms = [
            getattr(seq2seq, kind)(**options)
            for kind, options in case.mechanisms
        ]
        cells = [CELLS[name](UNITS) for name in case.cells]
        self.stacked = len(cells) > 1
        self.wrapper = seq2seq.AttentionWrapper(
            layers.StackedRNNCells(cells) if self.stacked else cells[0],
            self.mechanisms if len(self.mechanisms) > 1 else self.mechanisms[0],
            alignment_history=True,
            output_attention=case.output == "attention",
            **_layer_options(case),
        )
        self.output_layer = layers.Dense(TARGET_WORDS)
        self.decoder = seq2seq.BasicDecoder(
            self.wrapper, seq2seq.TrainingSampler(), self.output_layer
        )

    def start(self, source, beams: int = 1):
        """Set the memory, and return the wrapper's first state."""
        mask = tf.not_equal(source, 0)
        memory, states = self.source_embedding(source), []
        for encoder in self.encoders:
            memory, *found = encoder(memory, mask=mask)
            half = len(found) // 2
            states.append([tf.concat(found[i::half], -1) for i in range(half)])
        if self.bridge is not None:
            pairs = zip(self.bridge, states[0], strict=True)
            states = [[bridge(state) for bridge, state in pairs]]
        lengths = tf.reduce_sum(tf.cast(mask, tf.int32), 1)
        memory, lengths, states = seq2seq.tile_batch(
            (memory, lengths, states), beams
        )
        for mechanism in self.mechanisms:
            mechanism.setup_memory(memory, memory_sequence_length=lengths)
        first = self.wrapper.get_initial_state(
            batch_size=len(source) * beams, dtype=tf.float32
        )
        if not self.has_states:
            return first
        states = [x[0] if len(x) == 1 else x for x in states]
        return first.clone(
            cell_state=tuple(states) if self.stacked else states[0]
        )

    def call(self, inputs):
        """Return logits, and the alignments of each mechanism."""
        source, target = inputs
        found, state, _ = self.decoder(
            self.target_embedding(target),
            initial_state=self.start(source),
            sequence_length=tf.reduce_sum(tf.cast(target != 0, tf.int32), 1),
        )
        history = state.alignment_history
        history = history if isinstance(history, tuple) else (history,)
        return found.rnn_output, [
            tf.transpose(x.stack(), (1, 0, 2)) for x in history
        ]

    def greedy(self, source):
        """Return the likeliest words."""
        decoder = seq2seq.BasicDecoder(
            self.wrapper,
            seq2seq.GreedyEmbeddingSampler(),
            self.output_layer,
            maximum_iterations=STEPS,
        )
        found, _, lengths = decoder(
            self.target_embedding.embeddings,
            start_tokens=tf.fill((len(source),), START),
            end_token=END,
            initial_state=self.start(source),
        )
        return found.sample_id, lengths

    def beam(self, source, beams: int = BEAMS):
        """Return the best hypotheses, and their scores."""
        decoder = seq2seq.BeamSearchDecoder(
            self.wrapper,
            beams,
            output_layer=self.output_layer,
            maximum_iterations=STEPS,
        )
        found, _, _ = decoder(
            self.target_embedding.embeddings,
            start_tokens=tf.fill((len(source),), START),
            end_token=END,
            initial_state=self.start(source, beams),
        )
        scores = found.beam_search_decoder_output.scores
        return tf.transpose(found.predicted_ids, (0, 2, 1)), scores[:, -1]


def _layer_options(case) -> dict:
    options = {}
    if not case.fed:
        options["cell_input_fn"] = lambda inputs, _: inputs
    if case.activation:
        options["attention_layer"] = layers.Dense(
            case.layers[0], case.activation, bias_initializer="ones"
        )
    elif case.layers:
        several = len(case.layers) > 1
        sizes = list(case.layers) if several else case.layers[0]
        options["attention_layer_size"] = sizes
    return options


def make(case: Case, seed: int) -> Program:
    """Make a program, with weights as large as after training."""
    program = Program(case)
    program((SOURCE, TARGET))
    draw = np.random.default_rng(seed)
    for variable in program.variables:
        variable.assign(0.6 * draw.normal(size=variable.shape))
    kernel, bias = program.output_layer.weights
    kernel.assign(3 * kernel)
    unlikely = np.isin(np.arange(TARGET_WORDS), (0, START))
    bias.assign(tf.where(unlikely, UNLIKELY, bias))
    return program
