"""Combine saved translators: as an ensemble, or by averaging weights."""

from collections.abc import Sequence
from pathlib import Path

from keras_attention.models import Ensemble
from keras_attention.models.ensemble import check_alike
from keras_attention.text import ParallelTokenizer
from keras_attention.translator import Translator


def load_ensemble(folders: Sequence[str | Path]) -> Translator:
    """Combine several translators by averaging their output probabilities.

    The new translator has the search and the options of the first translator.
    If the source tokenizers differ, each member uses its own tokenizer.

    Args:
        folders: Paths to two or more saved translators.

    Returns:
        A translator whose model is an `Ensemble`.

    Raises:
        ValueError: If a folder cannot be loaded, if a translator has several
            source tokenizers, or if its target vocabulary differs from that of
            the first translator. The message names the folder.
    """
    return join_translators(_load(folders), folders)


def load_average(folders: Sequence[str | Path]) -> Translator:
    """Combine several checkpoints of one training by averaging their weights.

    The result is as fast as a single translator.

    Args:
        folders: Paths to two or more saved translators.

    Returns:
        A translator with the tokenizers, search and options of the first
        translator.

    Raises:
        ValueError: If a folder cannot be loaded, or if tokenizers or model
            options of a translator differ from those of the first translator.
            The message names the folder.
    """
    found = _load(folders)
    for folder, translator in zip(folders, found, strict=True):
        if not _same_source(translator, found[0]):
            raise ValueError(
                "An average needs translators with the same source tokenizer. "
                f"Received: {folder}, whose source tokenizer differs from that "
                f"of {folders[0]}. Use an ensemble."
            )
    whole = join_translators(found, folders)
    check_alike(whole.model.models, [*map(str, folders)])
    return found[0].with_parts(model=whole.model.average())


def join_translators(
    translators: Sequence[Translator], names: Sequence[str | Path]
) -> Translator:
    """Combine translators into one whose model is an `Ensemble`.

    Args:
        translators: The translators, as in `load_ensemble`.
        names: The name of each translator in error messages.

    Returns:
        The translator.
    """
    first = translators[0]
    target = first.target_tokenizer
    for name, translator in zip(names, translators, strict=True):
        own = translator.target_tokenizer
        if type(own) is not type(target) or own.vocabulary != target.vocabulary:
            raise ValueError(
                "An ensemble needs translators with the same target "
                f"vocabulary. Received: {name}, whose target vocabulary "
                f"differs from that of {names[0]}. Train them on the same "
                "targets with the same target tokenizer."
            )
        if isinstance(translator.source_tokenizer, ParallelTokenizer):
            raise ValueError(
                "An ensemble needs translators with one source tokenizer "
                f"each. Received: {name}, which has several. Pass its members "
                "instead."
            )
    same = all(_same_source(x, first) for x in translators)
    sources = [x.source_tokenizer for x in translators]
    model = Ensemble([x.model for x in translators])
    source = first.source_tokenizer if same else sources
    return first.with_parts(model=model, source_tokenizer=source)


def _load(folders):
    if len(folders) < 2:
        raise ValueError(
            "An ensemble or an average needs two or more folders. Received: "
            f"{len(folders)}. Pass all of them."
        )
    return [Translator.load(folder) for folder in folders]


def _same_source(one, other):
    pair = one.source_tokenizer, other.source_tokenizer
    if None in pair:
        return pair == (None, None)
    return pair[0].to_json() == pair[1].to_json()
