"""What a translation graph says, as Python text and NumPy arrays."""

from typing import Any
from typing import NamedTuple


class Translation(NamedTuple):
    """What a translator tells of each sentence, in their order.

    Attributes:
        texts: A string a sentence; a list of them, best first, if the search
            gives several.
        scores: Their scores, or `None` if not asked for.
        source_tokens: A list of tokens a sentence, start and end included:
            one for each column of its attention. `None` if not asked for.
        target_tokens: A list of tokens a text, without the start, with the
            end: one for each row of its attention. `None` likewise.
        attention: An array `(T, Tv)` a sentence, `(N, T, Tv)` if there are
            several texts. `None` if not asked for.
    """

    texts: list
    scores: list | None = None
    source_tokens: list | None = None
    target_tokens: list | None = None
    attention: list | None = None


def read_answer(answer: dict[str, Any]) -> Translation:
    """Turn one sentence's arrays into what the user reads.

    Args:
        answer: One row of what a `TranslationGraph` gives, as NumPy arrays.

    Returns:
        A `Translation` whose fields hold this sentence's entries.
    """
    texts = [text.decode("utf-8") for text in answer["translations"]]
    scores = [float(score) for score in answer["scores"]]
    several = len(texts) > 1

    def one(column):
        return column if several else column[0]

    if "source_tokens" not in answer:
        return Translation(one(texts), one(scores))
    source = _tokens(answer["source_tokens"])
    targets = [_tokens(row) for row in answer["target_tokens"]]
    attention = answer.get("attention")
    if attention is not None:
        longest = max(len(tokens) for tokens in targets)
        attention = attention[:, :longest, : len(source)]
    return Translation(
        one(texts),
        one(scores),
        source,
        one(targets),
        None if attention is None else one(attention),
    )


def join_entries(
    entries: list[Translation], scores: bool, attention: bool
) -> Translation:
    """Put sentences together, and leave out what nobody asked for.

    Args:
        entries: What `read_answer` returned for each sentence.
        scores: Whether scores are asked for.
        attention: Whether tokens and attention are asked for.

    Returns:
        A `Translation` whose fields are lists over the sentences.
    """
    columns = zip(*entries, strict=True) if entries else [()] * 5
    answer = Translation(*(list(column) for column in columns))
    if not scores:
        answer = answer._replace(scores=None)
    if not attention:
        nothing = {name: None for name in Translation._fields[2:]}
        answer = answer._replace(**nothing)
    return answer


def _tokens(row) -> list[str]:
    """Name the tokens of a row; padding is named by nothing."""
    return [token.decode("utf-8") for token in row if token]
