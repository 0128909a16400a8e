"""One step of an attentional decoder: the definition behind every loop."""

import contextlib

import keras
from keras import ops
from keras import tree

from keras_attention.checks import check_built
from keras_attention.checks import check_choice
from keras_attention.decoder import attentions as joint
from keras_attention.decoder import stack
from keras_attention.decoder.output import AbstractAttentionalLayer
from keras_attention.decoder.states import StateLayout
from keras_attention.decoder.states import share

ORDERS = ("bahdanau", "luong")
BUILD = "Call its AttentionDecoder once, or build it."


@keras.saving.register_keras_serializable(package="keras_attention")
class AttentionDecoderCell(AbstractAttentionalLayer):
    """Runs recurrent cells and attention for one step of a decoder.

    Formula:

        "bahdanau": c_i = attend(s_{i-1}), s_i = f([y_{i-1}; c_i], s_{i-1})
        "luong": s_i = f([y_{i-1}; h_{i-1}], s_{i-1}), c_i = attend(s_i)
        attentional vector: h_i = c_i, or tanh([s_i; c_i] W) with a layer size

    In the first order attention is asked with the previous state (`h` of the
    top cell), before the word is read; in the second with the new output, and
    with `input_feeding` the attentional vector goes into the next step. This
    is a step, not a loop: `AttentionDecoder` trains with it, a search
    generates with it, and what they carry is one flat list of states: those
    of the cells, bottom first; the vector that is fed back, if one is; those
    of the attentions.

    In `step`, `inputs` may be `(B, K, D)`, and then every state is `(B, K,
    ...)`: `K` parallel queries of one source share its memory.

    Args:
        cell: A Keras RNN cell, or a list of them, bottom first.
        attention: An attention layer; a list of them, whose contexts are
            concatenated; or `None`, the plain encoder-decoder.
        order: `"bahdanau"` or `"luong"`. Defaults to `"bahdanau"`.
        input_feeding: Whether the attentional vector is fed back. It belongs
            to the order `"luong"`. Defaults to `True`.
        attention_layer_size: Size of the attentional layer, or `None` for no
            such layer. Defaults to `None`.
        attention_activation: Its activation. Defaults to `"tanh"`.
        attention_use_bias: Whether it has a bias. Defaults to `False`.
        output: What a step gives: `"cell"` (s), `"attention"` (h), `"concat"`
            ([s; c]), or `"auto"`: the attentional vector where there is an
            attentional layer, else `[s; c]`. Defaults to `"auto"`.
        **kwargs: Arguments of `AbstractKernelLayer`, such as
            `kernel_initializer`, for the attentional layer's kernel.

    Call arguments:
        inputs: `(B, D)`.
        states: The flat list that `initial_state` or the step before gave.
        memory: What `prepare` gave.
        training: Whether to apply dropout.

    Returns:
        output: `(B, size)`.
        states: The next flat list. `step` gives the weights, `(B, Tv)`, in
            between; a list of them for several attentions.

    Raises:
        ValueError: If an argument has a wrong value, or goes together with
            none of the others; in `step`, if states or memory do not fit.

    Reference:
        [Bahdanau et al., 2015](https://arxiv.org/abs/1409.0473), section 3.1;
        [Luong et al., 2015](https://arxiv.org/abs/1508.04025), eq. 5 and
        section 3.3.
    """

    def __init__(
        self,
        cell,
        attention,
        order: str = "bahdanau",
        input_feeding: bool = True,
        attention_layer_size: int | None = None,
        attention_activation="tanh",
        attention_use_bias: bool = False,
        output: str = "auto",
        **kwargs,
    ):
        super().__init__(
            attention_layer_size=attention_layer_size,
            attention_activation=attention_activation,
            attention_use_bias=attention_use_bias,
            output=output,
            **kwargs,
        )
        self.cell = cell
        self.attention = attention
        self.order = order
        self.input_feeding = input_feeding
        self._check_arguments()
        self._masks_drawn = False

    @property
    def cells(self) -> list:
        """The cells, bottom first."""
        return stack.as_cells(self.cell)

    @property
    def attentions(self) -> list:
        """The attention layers, if any."""
        return joint.as_attentions(self.attention)

    def _check_arguments(self):
        stack.as_cells(self.cell)
        check_choice("order", self.order, ORDERS)
        if self.order == "bahdanau" and not self.input_feeding:
            raise ValueError(
                "`input_feeding` belongs to order='luong'; in the order "
                "'bahdanau' the context always goes into the step. Received: "
                "input_feeding=False. Leave it out, or change the order."
            )
        needs_context = self._output in ("attention", "concat")
        if not self.attentions and (needs_context or self.attention_layer_size):
            raise ValueError(
                "A cell with attention=None has no context: its output is the "
                f"state. Received: output={self._output!r}, "
                f"attention_layer_size={self.attention_layer_size}. Give an "
                "attention layer, or leave both out."
            )

    @property
    def state_size(self):
        # Keras' RNN asks for it before anything else.
        raise ValueError(
            "keras.layers.RNN cannot run AttentionDecoderCell: it has no way "
            "to hand on the memory. Use AttentionDecoder(cell), the loop that "
            "does."
        )

    def build(self, inputs_shape, memory_shape=None):
        joint.check_memory(self.attentions, memory_shape)
        size = stack.output_size(self.cells[-1])
        context_size = 0
        if self.attentions:
            context_size = len(self.attentions) * memory_shape[-1]
            top = tree.flatten(self.cells[-1].state_size)[0]
            query_size = top if self.order == "bahdanau" else size
            for attention in self.attentions:
                if not attention.built:
                    attention.build((None, None, query_size), memory_shape)
        self.add_attentional_layer(size, context_size)
        fed = self.attentional_size if self.feeds_back else 0
        before = context_size if self.order == "bahdanau" else fed
        self.cell_input_size = inputs_shape[-1] + before
        stack.build_cells(self.cells, self.cell_input_size)
        count = sum(a.state_count for a in self.attentions)
        self.state_layout = StateLayout(
            stack.state_sizes(self.cells), fed, count
        )

    @property
    def feeds_back(self) -> bool:
        """Whether the attentional vector is one of the states."""
        wanted = self.order == "luong" and self.input_feeding
        return wanted and bool(self.attentions)

    @property
    def attends_afterwards(self) -> bool:
        """Whether no step needs what attention finds in another."""
        alone = self.order == "luong" and not self.input_feeding
        states = any(a.state_count for a in self.attentions)
        return alone and bool(self.attentions) and not states

    def prepare(self, value, value_mask=None):
        return joint.prepare(self.attentions, value, value_mask)

    def initial_state(self, memory, cell_states=None, beams=None):
        memories = joint.as_memories(self.attentions, memory)
        if cell_states is None:
            if not memories:
                raise ValueError(
                    "A cell without attention needs `cell_states`: nothing "
                    "else tells the batch size. Received: cell_states=None"
                )
            batch_size = ops.shape(memories[0].values)[0]
            cell_states = stack.initial_states(self.cells, batch_size)
        given = [share(x, beams) for x in tree.flatten(cell_states)]
        rest = joint.initial_states(self.attentions, memories, beams)
        return self.state_layout.complete(given, rest, self.compute_dtype)

    def draw_noise(self, memory, steps, beams=None):
        memories = joint.as_memories(self.attentions, memory)
        return joint.draw_noise(self.attentions, memories, steps, beams)

    @contextlib.contextmanager
    def dropout_masks(self, inputs, states, training=None):
        """Draw the inner cells' masks once, for all steps in a `with` block.

        A step outside of it draws its own, and keeps none.

        Args:
            inputs: One step's inputs `(B, D)`.
            states: The flat list of states.
            training: Whether there is anything to draw.
        """
        size = self.cell_input_size - inputs.shape[-1]
        more = ops.zeros((ops.shape(inputs)[0], size), self.compute_dtype)
        x = ops.concatenate([self._float(inputs), more], axis=-1)
        self._masks_drawn = True
        try:
            with stack.dropout_masks(self.cells, x, states, training):
                yield
        finally:
            self._masks_drawn = False

    def step(self, inputs, states, memory=None, training=None, noise=None):
        check_built(self, "step", BUILD)
        return self.advance(
            self.read(inputs, training), states, memory, training, noise
        )

    def read(self, inputs, training=None):
        """Do ahead what a step does with its inputs alone.

        Args:
            inputs: `(..., D)`: of one step or, before a loop, of them all.
            training: Whether to apply dropout.
        """
        return stack.read(self.cells, self._float(inputs), training)

    def advance(self, read, states, memory=None, training=None, noise=None):
        """Do the rest: what `step` does, with what `read` made of inputs."""
        memories = joint.as_memories(self.attentions, memory)
        own, fed, looked = self.state_layout.split(list(states))
        own = [self._float(x) for x in own]

        def attend(query):
            return joint.attend(self.attentions, query, memories, looked, noise)

        if self.order == "bahdanau":
            top = len(stack.state_sizes(self.cells[:-1]))
            contexts, weights, looked = attend(own[top])
            more = ops.concatenate(contexts, axis=-1) if contexts else None
            s, own = stack.run_cells(self.cells, read, own, more, training)
        else:
            more = fed[0] if fed else None
            s, own = stack.run_cells(self.cells, read, own, more, training)
            contexts, weights, looked = attend(s)
        if training and not self._masks_drawn:
            stack.reset_masks(self.cells)
        output, attentional = self.answer(s, contexts)
        fed = [attentional] if self.feeds_back else []
        states = [self._float(x) for x in [*own, *fed]]
        return self._float(output), joint.pack(weights), [*states, *looked]

    def recur(self, read, states, training=None):
        """Advance the cells alone: the output, and the next states."""
        own = [self._float(x) for x in states]
        return stack.run_cells(self.cells, read, own, training=training)

    def attend_to(self, memory, s, noise=None):
        """Do the rest of all steps: outputs, and each attention's weights.

        Args:
            memory: What `prepare` gave.
            s: What `recur` gave in every step, `(B, T, U)`.
            noise: What `draw_noise` gave, with time on axis 1, or `None`.
        """
        memories = joint.as_memories(self.attentions, memory)
        contexts, weights, _ = joint.attend(
            self.attentions, self._float(s), memories, [], noise
        )
        return self._float(self.answer(s, contexts)[0]), weights

    def call(self, inputs, states, memory=None, training=None, noise=None):
        output, _, states = self.step(inputs, states, memory, training, noise)
        return output, states

    def _float(self, x):
        return ops.cast(ops.convert_to_tensor(x), self.compute_dtype)

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        own = {
            "cell": serialize(self.cell),
            "attention": serialize(self.attention),
            "order": self.order,
            "input_feeding": self.input_feeding,
        }
        return {**super().get_config(), **own}

    @classmethod
    def from_config(cls, config):
        restore = keras.saving.deserialize_keras_object
        layers = {k: restore(config[k]) for k in ("cell", "attention")}
        return cls(**{**config, **layers})
