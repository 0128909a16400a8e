"""The decoder of the papers in NumPy: one row, one step, one word at a time."""

import numpy as np


def named_weights(layer):
    """Map the names of a layer's own weights to float64 arrays."""
    named = {w.name: _float64(w) for w in layer.weights}
    inner = {"/".join(w.path.split("/")[-2:]): w for w in layer.weights}
    return {**named, **{name: _float64(w) for name, w in inner.items()}}


def _float64(weight):
    return np.array(weight.numpy(), "float64")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# Cells: inputs, states and weights of one row to an output and new states.


def lstm(x, states, w):
    h, c = states
    z = x @ w["kernel"] + h @ w["recurrent_kernel"] + w["bias"]
    i, f, g, o = np.split(z, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return h, [h, c]


def normalized(x, w, name):
    """Keras' layer normalization, by the weights of an inner layer."""
    x = (x - x.mean()) / np.sqrt(x.var() + 1e-3)
    return x * w[f"{name}/gamma"] + w[f"{name}/beta"]


def layer_norm_lstm(x, states, w):
    """Ba et al., eqs. 20 to 22, as TensorFlow Addons reads them."""
    h, c = states
    z = normalized(x @ w["kernel"], w, "kernel_norm") + w["bias"]
    z = z + normalized(h @ w["recurrent_kernel"], w, "recurrent_norm")
    i, f, g, o = np.split(z, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    c = normalized(c, w, "state_norm")
    h = sigmoid(o) * np.tanh(c)
    return h, [h, c]


def gru(x, states, w):
    """Keras' GRU with `reset_after=True`: two biases, z before r."""
    (h,) = states
    from_x = np.split(x @ w["kernel"] + w["bias"][0], 3)
    from_h = np.split(h @ w["recurrent_kernel"] + w["bias"][1], 3)
    z = sigmoid(from_x[0] + from_h[0])
    r = sigmoid(from_x[1] + from_h[1])
    h = z * h + (1 - z) * np.tanh(from_x[2] + r * from_h[2])
    return h, [h]


CELLS = {
    "LSTMCell": (lstm, 2),
    "GRUCell": (gru, 1),
    "LayerNormLSTMCell": (layer_norm_lstm, 2),
}


# Scores: one query and one key; mirror tests have those of all attentions.


def additive(q, k, w):
    vector, bias = w["score_vector"], 0
    if "gain" in w:
        vector = w["gain"] * vector / np.linalg.norm(vector)
        bias = w["bias"]
    hidden = np.tanh(q @ w["query_kernel"] + k @ w["key_kernel"] + bias)
    return vector @ hidden


def multiplicative(q, k, w):
    return w.get("scale", 1) * (q @ w["kernel"] @ k)


def dot(q, k, _):
    return q @ k


SCORES = {
    "BahdanauAttention": additive,
    "LuongGeneral": multiplicative,
    "DotAttention": dot,
}


class ReferenceDecoder:
    """Reads sizes and weights off an `AttentionDecoderCell`, nothing else."""

    def __init__(self, cell, activation=np.tanh):
        self.cells = [
            (*CELLS[type(c).__name__], named_weights(c)) for c in cell.cells
        ]
        self.attentions = [
            (SCORES[type(a).__name__], named_weights(a))
            for a in cell.attentions
        ]
        self.order = cell.order
        self.feeding = bool(
            cell.attentions and cell.input_feeding and cell.order == "luong"
        )
        self.output = cell.get_config()["output"]
        self.kernel = self.bias = None
        if cell.attention_layer_size:
            self.kernel = _float64(cell.attention_kernel)
            self.bias = np.zeros(cell.attention_layer_size)
            if cell.attention_use_bias:
                self.bias = _float64(cell.attention_bias)
        self.activation = activation

    def attend(self, query, memory, mask):
        """One query: a context and the weights of each attention."""
        contexts, every = [], []
        for score, w in self.attentions:
            real = [j for j in range(len(memory)) if mask[j]]
            scores = [score(query, memory[j], w) for j in real]
            powers = np.exp(np.array(scores) - max(scores, default=0))
            weights = np.zeros(len(memory))
            weights[real] = powers / powers.sum() if real else 0
            contexts.append(weights @ memory)
            every.append(weights)
        return np.concatenate([np.zeros(0), *contexts]), every

    def run_cells(self, x, states):
        after = []
        for run, count, w in self.cells:
            x, new = run(x, states[:count], w)
            states = states[count:]
            after.extend(new)
        return x, after

    def step(self, x, states, memory, mask):
        """One row and step: the output, the weights, the next states."""
        if self.feeding:
            *states, fed = states
        if self.order == "bahdanau":
            top = sum(count for _, count, _ in self.cells[:-1])
            context, weights = self.attend(states[top], memory, mask)
            s, states = self.run_cells(np.concatenate([x, context]), states)
        else:
            x = np.concatenate([x, fed]) if self.feeding else x
            s, states = self.run_cells(x, states)
            context, weights = self.attend(s, memory, mask)
        both = np.concatenate([s, context])
        vector = context
        if self.kernel is not None:
            vector = self.activation(both @ self.kernel + self.bias)
        outputs = {"cell": s, "attention": vector, "concat": both}
        outputs["auto"] = both if self.kernel is None else vector
        return (
            outputs[self.output],
            weights,
            [*states, vector] if self.feeding else states,
        )

    def run_row(self, sequence, memory, states, sequence_mask, memory_mask):
        """One row: outputs `(T, size)`, weights `(T, Tv)` each, states."""
        outputs, every = [], []
        for x, real in zip(sequence, sequence_mask, strict=True):
            output, weights, after = self.step(x, states, memory, memory_mask)
            outputs.append(output * real)
            every.append([w * real for w in weights])
            states = after if real else states
        weights = [np.stack(w) for w in zip(*every, strict=True)]
        return np.stack(outputs), weights, states

    def run(
        self, sequence, memory, states, sequence_mask=None, memory_mask=None
    ):
        """A batch: outputs, a list of weights, a list of states."""
        batch, steps = sequence.shape[:2]
        if memory is None:
            memory = np.zeros((batch, 1, 0))
        if sequence_mask is None:
            sequence_mask = np.ones((batch, steps), bool)
        if memory_mask is None:
            memory_mask = np.ones(memory.shape[:2], bool)
        rows = [
            self.run_row(
                sequence[b],
                memory[b],
                self.begin([state[b] for state in states], memory),
                sequence_mask[b],
                memory_mask[b],
            )
            for b in range(batch)
        ]
        outputs, weights, states = zip(*rows, strict=True)
        return (
            np.stack(outputs),
            [np.stack(w) for w in zip(*weights, strict=True)],
            [np.stack(s) for s in zip(*states, strict=True)],
        )

    def begin(self, states, memory):
        """Add the vector that is fed back, zeros, to the cells' states."""
        own = sum(count for _, count, _ in self.cells)
        if len(states) > own or not self.feeding:
            return states
        size = len(self.attentions) * memory.shape[-1]
        if self.kernel is not None:
            size = self.kernel.shape[1]
        return [*states, np.zeros(size)]


# Attention over all steps, where a step depends on those before.


def coverage_weights(query, key, mask, w):
    """See et al., eq. 11: `query (Tq, Dq)`, `key (Tv, Dk)`, `mask (Tq, Tv)`."""
    covered, every = np.zeros(len(key)), []
    for q, seen in zip(query, mask, strict=True):
        hidden = (
            q @ w["query_kernel"]
            + key @ w["key_kernel"]
            + np.outer(covered, w["coverage_vector"])
            + w["bias"]
        )
        e = np.exp(np.tanh(hidden) @ w["score_vector"]) * seen
        every.append(e / max(e.sum(), 1e-300))
        covered = covered + every[-1]
    return np.array(every)


def convolve(a, filters):
    """One position, one tap at a time; zeros beyond the ends."""
    size = len(filters)
    out = np.zeros((len(a), *filters.shape[1:]))
    for j in range(len(a)):
        for d in range(size):
            i = j + d - (size - 1) // 2
            if 0 <= i < len(a):
                out[j] += a[i] * filters[d]
    return out
