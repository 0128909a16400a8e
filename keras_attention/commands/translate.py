"""The command `translate FOLDER`, which translates lines."""

import argparse
import warnings
from collections.abc import Iterator

from keras_attention.commands.arguments import checking_arguments
from keras_attention.commands.lines import Entry
from keras_attention.commands.lines import run_lines
from keras_attention.search import AbstractSearch
from keras_attention.search import BeamSearch
from keras_attention.translator import Translator

SEARCH = "n_best", "beam_size", "length_penalty", "max_length"  # options


def run(arguments: argparse.Namespace):
    """Translate lines, and write the translations in input order."""
    translator = Translator.load(arguments.folder)
    if translator.source_tokenizer is None:
        raise ValueError(
            "`translate` needs a translator that reads text. Received: "
            f"{arguments.folder}, whose model reads features. Load it in "
            "Python with `Translator.load`, and pass arrays."
        )
    search = choose_search(translator.search, arguments)
    if search is not translator.search:
        translator = translator.with_search(search)

    def translate(lines: list[bytes], name: str) -> Iterator[Entry]:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", UserWarning)
            found = translator(
                lines,
                return_scores=True,
                return_attention_scores=arguments.alignments,
                return_token_scores=arguments.token_scores,
                batch_size=arguments.batch_size,
                verbose=0,
            )
        for warning in said:
            warnings.warn(f"{name}: {warning.message}", stacklevel=2)
        for i in range(len(found.texts)):
            yield Entry(*(None if x is None else x[i] for x in found))

    several = search.get_config().get("n_best", 1)
    run_lines(arguments, translator.source_tokenizer, translate, several)


def choose_search(
    search: AbstractSearch, arguments: argparse.Namespace
) -> AbstractSearch:
    """Apply command-line options to a search.

    Args:
        search: The saved search.
        arguments: The arguments of the command.

    Returns:
        The search itself, if no option is given; a search of the same class
        with other options; or a `BeamSearch`, if its class lacks the option.
    """
    given = {name: getattr(arguments, name, None) for name in SEARCH}
    given = {name: x for name, x in given.items() if x is not None}
    if not given:
        return search
    kind, config = type(search), search.get_config()
    if not given.keys() <= config.keys():
        kind, known = BeamSearch, BeamSearch(1).get_config()
        config = {name: x for name, x in config.items() if name in known}
    config = {**config, **given}
    if kind is BeamSearch and "beam_size" not in given:
        least = config.get("n_best", 1)
        config["beam_size"] = max(config.get("beam_size", 1), least)
    with checking_arguments():
        return kind.from_config(config)
