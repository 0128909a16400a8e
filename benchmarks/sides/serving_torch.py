"""The same model in torch, from ids to ids, with a beam search of its own.

Keys are projected once and not tiled. Mode `"compile"` puts `torch.compile`
around the step, for any number of rows and any length.
"""

import torch
from sides.decoder_torch import attend
from sides.decoder_torch import lstm
from sides.fit_torch import Translator
from sides.serve import serve
from sides.serving_requests import serving
from torch.nn.functional import log_softmax
from works import START
from works import FitWork
from works import ServingWork


def make_step(model):
    """Make a step for one token `(B, K)` of every beam.

    Args:
        model: The model, whose weights it takes.

    Returns:
        A function to log probabilities `(B, K, V)` and the next states.
    """
    kernel = torch.cat([model.kernel_0, model.recurrent_kernel_0]).detach()
    w = {name: x.detach() for name, x in model.named_parameters()}

    def step(tokens, states, keys, memory, mask):
        h, c, fed = states  # (B, K, U), (B, K, U), (B, K, A)
        words = model.embed(w["target_embeddings"], tokens)
        gates = torch.cat([words, fed, h], -1) @ kernel + w["bias_0"]
        h, c = lstm(gates, c)
        query = h @ w["query_kernel"]
        context = attend(query, keys, memory, w["score_vector"], mask)
        fed = torch.cat([h, context], -1) @ w["attention_kernel"]
        logits = fed @ w["output_kernel"] + w["output_bias"]
        return log_softmax(logits, -1), [h, c, fed]

    return step


def search(work: ServingWork, step, states, *source):
    """Search for so many steps; return `tokens (B, T)` and `scores (B,)`."""
    beams, batch = work.beams, len(states[0])
    rows = torch.arange(batch)[:, None]
    states = [x[:, None].expand(-1, beams, -1) for x in states]
    scores = torch.full((batch, beams), -torch.inf)
    scores[:, 0] = 0  # all beams of a sentence start as one hypothesis
    tokens = torch.full((batch, beams), START)
    texts = tokens.new_zeros((batch, beams, work.steps))
    for t in range(work.steps):
        log_probs, states = step(tokens, states, *source)
        if beams == 1:
            gains, tokens = log_probs.max(-1)
            scores = scores + gains
        else:
            every = (scores[..., None] + log_probs).flatten(1)
            scores, chosen = every.topk(beams)
            parents = chosen // work.vocabulary
            tokens = chosen % work.vocabulary
            states = [x[rows, parents] for x in states]
            texts = texts[rows, parents]
        texts[:, :, t] = tokens
    return texts[:, 0], scores[:, 0]


def make(work: dict, arrays: dict, mode: str):
    """Make the model."""
    work = ServingWork(**work)
    torch.set_num_threads(work.threads)

    def load():
        model = Translator(FitWork(*work[:3]), arrays)
        step = make_step(model)
        if mode == "compile":
            step = torch.compile(step, dynamic=True)

        @torch.inference_mode()
        def translate(ids):
            source = torch.tensor(ids, dtype=torch.long)
            lengths = (source != 0).sum(1)
            packed = torch.nn.utils.rnn.pack_padded_sequence(
                model.embed(model.source_embeddings, source),
                lengths,
                batch_first=True,
                enforce_sorted=False,
            )
            packed, found = model.encoder(packed)
            memory, _ = torch.nn.utils.rnn.pad_packed_sequence(
                packed, batch_first=True, total_length=source.shape[1]
            )
            h, c = (torch.cat(list(state), -1) for state in found)
            fed = h.new_zeros((len(h), work.size))
            keys = memory @ model.key_kernel
            mask = source != 0
            found = search(work, step, [h, c, fed], keys, memory, mask)
            return [x.numpy() for x in found]

        return translate

    return serving(load, arrays["sources"])


if __name__ == "__main__":
    serve(make)
