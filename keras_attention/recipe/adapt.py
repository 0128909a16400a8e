"""Fine-tuning: a training that begins with a saved translator."""

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
    """Load the translator that is fine-tuned.

    Args:
        folder: Where it was saved.
        recipe: The recipe of the fine-tuning.

    Returns:
        The translator, and a comment of TOML that identifies it.

    Raises:
        ValueError: If it cannot be loaded, if its model is no `Seq2Seq`, or
            if an option differs that cannot.
    """
    start = Translator.load(folder)
    if not isinstance(start.model, Seq2Seq) or start.source_tokenizer is None:
        raise ValueError(
            "Only a translator of text with one Seq2Seq can be fine-tuned. "
            f"Received: {folder}, with {type(start.model).__name__}. If it is "
            "an ensemble, name one of its members, such as FOLDER/seed_0."
        )
    for name, value in fixed_options(folder).items():
        given = getattr(recipe, name)
        if given != value:
            raise ValueError(
                f"`{name}` must be that of the translator that is fine-tuned, "
                f"{value!r} of {folder}. Received: {name}={given!r}. Leave it "
                "out, or train a new translator."
            )
    tagged = isinstance(start.source_tokenizer, TaggedTokenizer)
    if tagged != (recipe.features is not None):
        raise ValueError(
            "`features` must name a column if the translator that is "
            f"fine-tuned reads tags, and only then. Received: features="
            f"{recipe.features} for {folder}, which reads "
            f"{'tags' if tagged else 'no tags'}."
        )
    checksum = sha256_of(Path(folder) / MAIN_FILE)
    return start, f"# SHA-256 of the translator it began with: {checksum}\n"


def report_growth(
    start: Translator, tokenizers: tuple, report: Callable[[str], None]
):
    """Say how many entries are new.

    Args:
        start: The translator that is fine-tuned.
        tokenizers: The new ones of source and target.
        report: Function that is called with a line of text.
    """
    old = start.source_tokenizer, start.target_tokenizer
    counts = [
        len(y.vocabulary) - len(x.vocabulary)
        for x, y in zip(old, tokenizers, strict=True)
    ]
    report("New: {} source and {} target tokens".format(*counts))
