"""A tokenizer with one id per word and punctuation mark."""

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
    """Splits text into words and punctuation, and joins them again.

    It suits languages that put spaces between words, and has rules for
    English, German and French:

    - Punctuation inside a word is part of the word: "don't", "well-known",
      "T-Shirt", "3.5", "10:30", "R&B", "U.S.", "Obst-".
    - French elisions and English clitics are separate tokens: "l'" + "homme",
      "man" + "'s". This keeps the vocabulary small.
    - Every other punctuation mark is a token: "..." becomes three tokens.
    - A space before `: ; ! ? %`, as in French, belongs to the mark: " :" has
      an id of its own if it is frequent enough in the training text.

    A token that is not in the vocabulary is looked up again without the
    punctuation at its edges: "Obst-" as "Obst", "'em" as "em", " !" as "!".

    `detokenize` puts a space between two tokens, with these exceptions: no
    space before closing marks and clitics, after opening marks and elisions, or
    around `/`. The first double quote of a text opens, the second closes, and
    so on, whatever their shapes. A token such as "-Schild" follows a closing
    quote without a space. These rules also normalize spelling: "a , b" becomes
    "a, b", "« a »" becomes "«a»", and a curly apostrophe inside a word becomes
    a straight apostrophe. If you tokenize a text that was decoded from ids
    other than the unknown id, you get these ids again. The unknown id is
    decoded as "<unk>", and "<unk>" in a text is tokenized as the unknown id.

    Args:
        vocabulary: Words and punctuation, with the ids 4, 5, ... in this
            order.
        normalization: A Unicode normalization form: `"nfc"`, `"nfd"`,
            `"nfkc"`, `"nfkd"`, or `"identity"` for none. Defaults to `"nfc"`.
        lowercase: Whether to lowercase text. Defaults to `False`.

    Raises:
        ValueError: If an entry of `vocabulary` contains whitespace other than
            the space before a mark, is empty, is not a string, is a
            duplicate, or is the name of a special id.

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
        """The steps: normalize, mark token boundaries, split, look up, join."""
        return [
            self.cleaning,
            Replace(SPACING),
            Replace(CUTS, apart=" "),
            Split("\n"),
            LookUp(self.vocabulary, EDGES),
            Join(" ", CLOSES, OPENS, QUOTES, FOLLOWS),
        ]
