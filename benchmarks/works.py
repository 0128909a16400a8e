"""Sizes of the measured work, the same for all sides."""

from typing import NamedTuple


class DecoderWork(NamedTuple):
    """A training step of an attentional decoder.

    Attributes:
        batch: Number of sentences, `B`.
        steps: Words of a target, `T`.
        words: Words of a source, `Tv`.
        units: Size of the cells and of the memory, `U`.
        size: Size of the inputs, `D`.
        cell: `"lstm"` or `"gru"`.
        depth: Number of stacked cells.
        score: `"additive"` or `"general"`.
        order: `"bahdanau"` or `"luong"`.
        layer: Size of the attentional layer, which is linear as in TFA, and
            of additive attention. `None` for no such layer; additive
            attention then has the size of the cells.
        output: Output of a step: `"cell"` or `"attention"`.
    """

    batch: int = 64
    steps: int = 30
    words: int = 30
    units: int = 512
    size: int = 256
    cell: str = "lstm"
    depth: int = 1
    score: str = "additive"
    order: str = "bahdanau"
    layer: int | None = None
    output: str = "cell"


class AttentionWork(NamedTuple):
    """Additive attention over whole sequences, forward and gradient.

    Attributes:
        layer: `"ours"` for `BahdanauAttention`, or `"keras"` for
            `AdditiveAttention`.
        batch: Number of pairs of sequences, `B`.
        queries: Number of queries, `Tq`.
        words: Length of the memory, `Tv`.
        units: Size of all features, `U`.
    """

    layer: str = "ours"
    batch: int = 16
    queries: int = 200
    words: int = 200
    units: int = 256


class EncoderWork(NamedTuple):
    """A bidirectional LSTM over the words of a source.

    Attributes:
        layer: `"ours"` for `RecurrentEncoder`, or `"keras"` for
            `Bidirectional(LSTM)`.
        batch: Number of sentences, `B`.
        words: Words of a source, `Tv`.
        size: Size of the inputs, `D`.
        units: Units in each direction, `U`.
        gradient: Whether the work is a training step, forward and gradient,
            or the forward pass of inference.
    """

    layer: str = "ours"
    batch: int = 64
    words: int = 30
    size: int = 256
    units: int = 256
    gradient: bool = True


class SearchWork(NamedTuple):
    """A beam search that never generates an end token.

    The decoder is in Luong's order, and its output layer gets the cell's
    state, as in TFA with `output_attention=False`.

    Attributes:
        batch: Number of sentences, `B`.
        beams: Number of hypotheses of each, `K`.
        steps: Words of a target, `T`.
        words: Words of a source, `Tv`.
        units: Size of the cell, of the attention and of the memory, `U`.
        size: Size of the embeddings, `D`.
        vocabulary: Number of words, `V`.
    """

    batch: int = 16
    beams: int = 5
    steps: int = 40
    words: int = 30
    units: int = 512
    size: int = 256
    vocabulary: int = 8000


class FitWork(NamedTuple):
    """The model whose training is measured, an encoder-decoder.

    The encoder is a bidirectional LSTM; its concatenated states are the
    decoder's initial states. The decoder is an LSTM of twice its units, in
    Luong's order, with additive attention and a linear attentional layer. The
    output layer is not tied to the embeddings.

    Attributes:
        vocabulary: Number of words of either language, `V`.
        size: Size of embeddings, attention and attentional layer.
        units: Units of the encoder, in each direction.
    """

    vocabulary: int = 8000
    size: int = 256
    units: int = 256


class ServingWork(NamedTuple):
    """A model that is served: that of `FitWork`, and a search without an end.

    Attributes:
        vocabulary: Number of words of either language, `V`.
        size: Size of embeddings, attention and attentional layer.
        units: Units of the encoder, in each direction.
        beams: Number of hypotheses of each, `K`; 1 for greedy search.
        steps: Words of a target, `T`.
        shortest: Words of the shortest source.
        longest: Words of the longest source.
        sentences: Number of sources to choose requests from.
        threads: Number of threads.
        folder: Where the exported files are.
    """

    vocabulary: int = 8000
    size: int = 256
    units: int = 256
    beams: int = 1
    steps: int = 30
    shortest: int = 5
    longest: int = 25
    sentences: int = 64
    threads: int = 1
    folder: str = ""


class CrossentropyWork(NamedTuple):
    """An output layer, a loss, and their gradient.

    Attributes:
        loss: `"ours"`, `"formula"` or `"keras"`.
        batch: Number of sentences, `B`.
        steps: Words of a target, `T`.
        size: Size of the layer's inputs.
        vocabulary: Number of words, `V`.
        smoothing: Label smoothing.
    """

    loss: str = "ours"
    batch: int = 64
    steps: int = 30
    size: int = 256
    vocabulary: int = 32000
    smoothing: float = 0.0


START, END = 2, 3


class TransductionWork(NamedTuple):
    """Training on a table of short texts, and translating them.

    Attributes:
        longest: Symbols of a target, at most, with the end.
        batch: Number of pairs in a batch.
        units: Size of the cells, a direction, and of attention.
        size: Size of the embeddings.
        dropout: Rate of dropout.
        smoothing: Share of probability that is spread over all symbols.
        rate: Learning rate of Adam.
    """

    longest: int
    batch: int = 100
    units: int = 256
    size: int = 64
    dropout: float = 0.2
    smoothing: float = 0.1
    rate: float = 0.01
