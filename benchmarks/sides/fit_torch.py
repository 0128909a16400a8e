"""Training of the same model in torch, with the decoder's loop in Python.

Mode `"compile"` puts `torch.compile` around the model.
"""

import math

import torch
from draws import decoder_of_fit
from draws import decoder_weights
from sides.decoder_torch import DEVICE
from sides.decoder_torch import attend
from sides.decoder_torch import lstm
from sides.fit_data import ADAM
from sides.fit_data import COMPARED
from sides.fit_data import DESCENT
from sides.fit_data import batches
from sides.serve import serve
from torch import nn
from works import FitWork


class Translator(nn.Module):
    """Embeds, encodes, decodes with attention, and scores the next word."""

    def __init__(self, work: FitWork, weights: dict):
        super().__init__()
        self.size = work.size
        for name in ("source_embeddings", "target_embeddings"):
            self._add(name, weights[name])
        self.encoder = encoder(work, weights)
        for name in decoder_weights(decoder_of_fit(work)):
            self._add(name, weights[name])
        for name in ("output_kernel", "output_bias"):
            self._add(name, weights[name])

    def _add(self, name, value):
        self.register_parameter(name, nn.Parameter(torch.tensor(value)))

    def embed(self, table, ids):
        """Embed ids `(B, T)` to `(B, T, D)`."""
        return math.sqrt(self.size) * nn.functional.embedding(ids, table)

    def forward(self, source, lengths, target):
        """Compute the logits of every next word, `(B, T, V)`."""
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embed(self.source_embeddings, source),
            lengths,
            batch_first=True,
            enforce_sorted=False,
        )
        packed, states = self.encoder(packed)
        memory, _ = nn.utils.rnn.pad_packed_sequence(
            packed, batch_first=True, total_length=source.shape[1]
        )
        h, c = (torch.cat(list(state), -1) for state in states)
        words = self.embed(self.target_embeddings, target)
        outputs = self.decode(words, memory, source != 0, h, c)
        return outputs @ self.output_kernel + self.output_bias

    def decode(self, words, memory, mask, h, c):
        """Run the decoder in Luong's order, with input feeding."""
        keys = memory @ self.key_kernel
        projected = words @ self.kernel_0[: self.size] + self.bias_0
        of_fed = self.kernel_0[self.size :]
        fed = torch.zeros_like(words[:, 0])
        outputs = []
        for x in projected.unbind(1):
            gates = x + fed @ of_fed + h @ self.recurrent_kernel_0
            h, c = lstm(gates, c)
            query = (h @ self.query_kernel)[:, None]
            context = attend(query, keys, memory, self.score_vector, mask)
            fed = torch.cat([h, context[:, 0]], -1) @ self.attention_kernel
            outputs.append(fed)
        return torch.stack(outputs, 1)


def encoder(work: FitWork, weights) -> nn.LSTM:
    """Make the bidirectional LSTM; the second bias of torch's stays 0."""
    found = nn.LSTM(work.size, work.units, batch_first=True, bidirectional=True)
    for side, end in (("forward", ""), ("backward", "_reverse")):
        values = {
            "weight_ih_l0": weights[f"{side}_kernel"].T,
            "weight_hh_l0": weights[f"{side}_recurrent_kernel"].T,
            "bias_ih_l0": weights[f"{side}_bias"],
        }
        for name, value in values.items():
            getattr(found, name + end).data = torch.tensor(value.copy())
        second = getattr(found, "bias_hh_l0" + end)
        second.data.zero_()
        second.requires_grad_(False)
    return found


def make(work: dict, arrays: dict, mode: str):
    """Make the model; return functions that train it over all batches."""
    work = FitWork(**work)
    model = Translator(work, arrays).to(DEVICE)
    scores = torch.compile(model) if mode == "compile" else model
    trained = [x for x in model.parameters() if x.requires_grad]
    data = []
    for (source, known), told in batches(arrays):
        lengths = torch.tensor((source != 0).sum(1))  # on the CPU
        ids = (torch.tensor(x, device=DEVICE) for x in (source, known, told))
        data.append((lengths, *ids))

    def step(optimizer, lengths, source, known, told):
        optimizer.zero_grad()
        logits = scores(source, lengths, known)
        loss = nn.functional.cross_entropy(
            logits.flatten(0, 1), told.flatten().long(), ignore_index=0
        )
        loss.backward()
        optimizer.step()
        return loss.detach()

    adam = torch.optim.Adam(trained, lr=ADAM)

    def run():
        return sum(step(adam, *batch) for batch in data).item()

    def numbers():
        descent = torch.optim.SGD(trained, lr=DESCENT)
        losses = [step(descent, *batch).item() for batch in data[:COMPARED]]
        return {"losses": losses}

    return run, numbers


if __name__ == "__main__":
    serve(make)
