"""Beam search in plain torch, with one step for all beams at once.

Keys are projected once and not tiled. Mode `"compile"` puts `torch.compile`
around the step.
"""

import math

import torch
from sides.decoder_torch import DEVICE
from sides.decoder_torch import attend
from sides.decoder_torch import lstm
from sides.serve import serve
from torch.nn.functional import log_softmax
from works import START
from works import SearchWork


def step(tokens, states, keys, w):
    """Run a step for one token `(B, K)` of every beam.

    Returns:
        Log probabilities `(B, K, V)`, and the next states.
    """
    h, c, fed = states  # (B, K, U)
    x = torch.cat([w["embeddings"][tokens], fed], -1)
    gates = x @ w["kernel_0"] + h @ w["recurrent_kernel_0"] + w["bias_0"]
    h, c = lstm(gates, c)
    query = h @ w["query_kernel"]
    fed = attend(query, keys, w["memory"], w["score_vector"])
    logits = h @ w["output_kernel"] + w["output_bias"]
    return log_softmax(logits, -1), torch.stack([h, c, fed])


def make(work: dict, arrays: dict, mode: str):
    """Make the search, which returns all hypotheses, best first."""
    work = SearchWork(**work)
    batch, beams = work.batch, work.beams
    w = {name: torch.tensor(x, device=DEVICE) for name, x in arrays.items()}
    w["embeddings"] = math.sqrt(work.size) * w["embeddings"]
    advance = torch.compile(step) if mode == "compile" else step

    def search():
        keys = w["memory"] @ w["key_kernel"]
        states = torch.zeros((3, batch, beams, work.units), device=DEVICE)
        scores = torch.full((batch, beams), -torch.inf, device=DEVICE)
        scores[:, 0] = 0  # all beams of a sentence start as one hypothesis
        tokens = torch.full((batch, beams), START, device=DEVICE)
        texts = tokens.new_zeros((batch, beams, work.steps))
        for t in range(work.steps):
            log_probs, states = advance(tokens, states, keys, w)
            every = (scores[..., None] + log_probs).flatten(1)
            scores, chosen = every.topk(beams)
            parents, tokens = (
                chosen // work.vocabulary,
                chosen % work.vocabulary,
            )
            rows = torch.arange(batch, device=DEVICE)[:, None]
            states, texts = states[:, rows, parents], texts[rows, parents]
            texts[:, :, t] = tokens
        return texts, scores

    def run():
        with torch.inference_mode():
            return [x.cpu() for x in search()]

    def numbers():
        tokens, scores = run()
        return {"tokens": tokens[:, 0], "scores": scores}

    return run, numbers


if __name__ == "__main__":
    serve(make)
