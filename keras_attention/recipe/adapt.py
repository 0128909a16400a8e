"""Fine-tuning: a training that starts from a saved translator."""

from collections.abc import Callable
from pathlib import Path

from keras_attention.files import sha256_of
from keras_attention.models import Seq2Seq
from keras_attention.recipe.options import Recipe
from keras_attention.recipe.options import fixed_options
from keras_attention.text import TaggedTokenizer
from keras_attention.translator import MAIN_FILE
from keras_attention.translator import Translator


def load_start(folder: str | Path, recipe: Recipe) -> tuple[Translator, str]:
    """Load the translator to fine-tune.

    Args:
        folder: Path to the saved translator.
        recipe: The recipe of the fine-tuning.

    Returns:
        The translator, and a TOML comment that identifies it.

    Raises:
        ValueError: If it cannot be loaded, if its model is not a `Seq2Seq`,
            or if an option differs that cannot be changed.
    """
    start = Translator.load(folder)
    if not isinstance(start.model, Seq2Seq) or start.source_tokenizer is None:
        raise ValueError(
            "Only a translator of text with one Seq2Seq can be fine-tuned. "
            f"Received: {folder}, with {type(start.model).__name__}. For an "
            "ensemble, pass one of its members, such as FOLDER/seed_0."
        )
    for name, value in fixed_options(folder).items():
        given = getattr(recipe, name)
        if given != value:
            raise ValueError(
                f"`{name}` must be {value!r}, as in {folder}, because "
                "fine-tuning cannot change it. Received: "
                f"{name}={given!r}. Leave it out, or train a new translator."
            )
    tagged = isinstance(start.source_tokenizer, TaggedTokenizer)
    if tagged != (recipe.features is not None):
        raise ValueError(
            "`features` must be a column index if the translator to fine-tune "
            f"reads tags, and only then. Received: features="
            f"{recipe.features} for {folder}, which reads "
            f"{'tags' if tagged else 'no tags'}."
        )
    checksum = sha256_of(Path(folder) / MAIN_FILE)
    return start, f"# SHA-256 of the translator it began with: {checksum}\n"


def report_growth(
    start: Translator, tokenizers: tuple, report: Callable[[str], None]
):
    """Report the number of new vocabulary entries.

    Args:
        start: The translator to fine-tune.
        tokenizers: The new source and target tokenizers.
        report: Function that is called with a line of text.
    """
    old = start.source_tokenizer, start.target_tokenizer
    counts = [
        len(y.vocabulary) - len(x.vocabulary)
        for x, y in zip(old, tokenizers, strict=True)
    ]
    report("New vocabulary: {} source and {} target tokens".format(*counts))
