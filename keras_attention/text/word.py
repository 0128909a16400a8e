"""One id for every word and every sign."""

import re
from collections.abc import Iterable

import keras

from keras_attention.steps.primitives import AbstractStep
from keras_attention.steps.primitives import Join
from keras_attention.steps.primitives import LookUp
from keras_attention.steps.primitives import Replace
from keras_attention.steps.primitives import Split
from keras_attention.text.vocabulary import AbstractVocabularyTokenizer
from keras_attention.text.vocabulary import check_no_space

# Regular expressions of RE2: no look-around, so what stands around a cut is
# matched and put back. A line feed marks a cut.
SPACES = r"\s\pZ\x0b\x{85}"
DASH = "\N{EN DASH}"
CURLY = "\N{RIGHT SINGLE QUOTATION MARK}"
LETTER = r"\pL\pM\pN\p{Cf}_"
ELISION = r"(?i:(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)')"
ENDING = r"(?i:'(?:s|m|d|ll|re|ve))"
ABBREVIATION = r"(?:[\pL]\.){2,}"
NUMBER = rf"[\pN]+(?:[.,:{DASH}][\pN]+)+"
UNIT = rf"(?:{NUMBER}[{LETTER}]*|[{LETTER}]+)"
WORD = rf"[-']?{UNIT}(?:[-'&]{UNIT})*-?"
TOKEN = rf"{ELISION}?<unk>|{ABBREVIATION}|{WORD}|[^ ]"
SPACED_SIGN = " [:;!?%]"  # as French writes them
SIGN = re.compile(SPACED_SIGN)

SPACING = (
    (rf"[{SPACES}]+", " "),
    (r"^ | $", ""),
)
CUTS = (
    (rf"{CURLY}([{LETTER}])", r"'\1"),
    (rf"({SPACED_SIGN})| ?({TOKEN})", "\\1\\2\n"),
    (rf"(?m)([{LETTER}])({ENDING})('|$)", "\\1\n\\2\n\\3"),
    (rf"(?m)^({ELISION})([{LETTER}<])", "\\1\n\\2"),
)
EDGES = "^[-' ]+|-$"

SLASHES = "/\N{FRACTION SLASH}"
CLOSES = rf"[.,;:!?%)\]}}'{CURLY}{SLASHES}]|{SPACED_SIGN}|{ENDING}|"
LEFT_QUOTES = "\N{LEFT SINGLE QUOTATION MARK}\N{SINGLE LOW-9 QUOTATION MARK}"
OPENS = rf"[(\[{{#@$£¿¡{LEFT_QUOTES}{SLASHES}]|{ELISION}"
QUOTES = '["„“”«»]'
FOLLOWS = "-.+"


@keras.saving.register_keras_serializable(package="keras_attention")
class WordTokenizer(AbstractVocabularyTokenizer):
    """Splits text into words and signs, and writes them as people do.

    It suits languages that put spaces between words. Its rules know English,
    German and French. Text is split so:

    - Signs inside a word belong to it: "don't", "well-known", "T-Shirt",
      "3.5", "10:30", "R&B", "U.S.", "Obst-".
    - French elisions and English endings are words of their own: "l'" +
      "homme", "man" + "'s", so that they do not multiply the vocabulary.
    - Every other sign is a token: "..." is three.
    - A space before `: ; ! ? %`, as in French, belongs to the sign: " :" has
      an id of its own if it is frequent enough in the text for training.

    A token that is not in the vocabulary is looked up again without the signs
    at its edges: "Obst-" as "Obst", "'em" as "em", " !" as "!".

    `detokenize` puts a space between two tokens, except before closing signs
    and endings, after opening signs and elisions, and on both sides of `/`.
    Double quotes of any shape open and close in turn, and "-Schild" joins a
    closing one. Text that was written otherwise comes back by these rules:
    "a , b" as "a, b", "« a »" as "«a»", and a curly apostrophe inside a word
    as a straight one. Text from known ids splits into the same ids again. The
    unknown id is written as "<unk>", and "<unk>" in a text is read as it.

    Args:
        vocabulary: Words and signs, with the ids 4, 5, ... in this order.
        normalization: A form of Unicode, `"nfc"`, `"nfd"`, `"nfkc"` or
            `"nfkd"`, or `"identity"`. Defaults to `"nfc"`.
        lowercase: Whether to put text into lower case. Defaults to `False`.

    Raises:
        ValueError: If an entry of `vocabulary` has white space, but for that
            before a sign; if one is empty, is not a string, appears twice, or
            is the name of a special id.

    Example:

    >>> from keras_attention.text import WordTokenizer
    >>> tokenizer = WordTokenizer.train(["Ein Mann, ein Hund."], 100)
    >>> tokenizer.vocabulary
    [',', '.', 'Ein', 'Hund', 'Mann', 'ein']
    >>> ids = tokenizer.tokenize(["Ein Hund, ein Stuhl."])
    >>> ids.tolist()
    [[2, 6, 7, 4, 9, 1, 5, 3]]
    >>> tokenizer.detokenize(ids).tolist()
    ['Ein Hund, ein <unk>.']
    """

    def __init__(
        self,
        vocabulary: Iterable[str],
        normalization: str = "nfc",
        lowercase: bool = False,
    ):
        super().__init__(vocabulary, normalization, lowercase)
        spaceless = [x for x in self.vocabulary if not SIGN.fullmatch(x)]
        check_no_space(spaceless, SPACES, type(self).__name__)

    @property
    def steps(self) -> list[AbstractStep]:
        """Normalize, mark where words end, split there, look up, join."""
        return [
            self.cleaning,
            Replace(SPACING),
            Replace(CUTS, apart=" "),
            Split("\n"),
            LookUp(self.vocabulary, EDGES),
            Join(" ", CLOSES, OPENS, QUOTES, FOLLOWS),
        ]
