r"""How does a phone translate? With one file, without TensorFlow and Keras.

`translator.export("translator.tflite", format="litert")` writes a LiteRT file.
The file also contains a ZIP archive with the two tokenizers in JSON. Its last
64 bytes are the SHA-256 of all bytes before them:

    python examples/litert_translate.py saved_models/dates/translator.tflite \
        "12 May 2021"

This program needs only `numpy` and `ai-edge-litert` (the extra `litert`). It
shows every step that an app must implement in its own language: text to ids,
ids to ids, and ids to text. The source tokenizer must be a `CharacterTokenizer`
or a `SymbolTokenizer`. The target tokenizer may also be a `WordTokenizer`,
because joining words needs fewer rules than splitting text into words.
"""

import argparse
import hashlib
import json
import re
import unicodedata
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter

ROOT = Path(__file__).parents[1]
FILE = "saved_models/dates/translator.tflite"
SHOWN = ["12 May 2021", "Donnerstag, den 29. Februar 2024", "2024년 2월 29일"]
PAD, UNKNOWN, START, END, FIRST = range(5)
JOINS = {
    "CharacterTokenizer": "",
    "SymbolTokenizer": " ",
    "WordTokenizer": None,
}
# What has no space before it, what has none behind it, and what has it in turn.
CLOSING = re.compile(r" ?[.,:;!?%)\]}'\u2019/\u2044]|'(s|m|d|ll|re|ve)|", re.I)
OPENING = re.compile(
    r"[(\[{#@$£¿¡\u2018\u201a/\u2044]|([cdjlmnst]|(jus|lors|puis)?qu)'", re.I
)
QUOTES = {*'"\u201e\u201c\u201d«»'}


class Tokenizer:
    """Gives letters or symbols the ids that they had in training.

    Args:
        saved: Content of `source_tokenizer.json` or `target_tokenizer.json`.

    Raises:
        ValueError: If it is of a tokenizer that is not known here.
    """

    def __init__(self, saved: str | bytes):
        content = json.loads(saved)
        self.kind = content["class_name"].removeprefix("keras_attention>")
        if self.kind not in JOINS:
            self._refuse("writes", JOINS)
        config = content["config"]
        self.normalization = config.get("normalization", "identity")
        self.lowercase = config.get("lowercase", False)
        self.ids = {c: i for i, c in enumerate(config["vocabulary"], FIRST)}

    def _refuse(self, does, known):
        raise ValueError(
            f"This program {does} {', '.join(known)} only. Received: "
            f"{self.kind}. Write down here what it does."
        )

    def tokenize(self, sentences: list[str]) -> np.ndarray:
        """Turn sentences into ids `(B, T)`, with start and end, padded."""
        if JOINS[self.kind] is None:
            self._refuse(
                "reads", [k for k, x in JOINS.items() if x is not None]
            )
        rows = [
            [START, *(self.ids.get(c, UNKNOWN) for c in self.split(x)), END]
            for x in sentences
        ]
        ids = np.full((len(rows), max(map(len, rows))), PAD, np.int32)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = row
        return ids

    def detokenize(self, ids: np.ndarray) -> str:
        """Turn one row of ids into text, up to its end."""
        ids = ids.tolist()
        ids = ids[: ids.index(END)] if END in ids else ids
        names = {i: c for c, i in self.ids.items()}
        letters = self.kind == "CharacterTokenizer"
        names[UNKNOWN] = "\N{REPLACEMENT CHARACTER}" if letters else "<unk>"
        found = [names[i] for i in ids if i not in (PAD, START)]
        between = JOINS[self.kind]
        return join_words(found) if between is None else between.join(found)

    def split(self, text: str) -> list[str]:
        """Split a text into letters, or into symbols at ASCII's spaces."""
        if self.kind == "CharacterTokenizer":
            return list(self.clean(text))
        return re.findall(r"[^ \t-\r]+", text)

    def clean(self, text: str) -> str:
        """Normalize a text, and convert it to lower case if the model is."""
        text = self._normalize(text)
        return self._normalize(text.lower()) if self.lowercase else text

    def _normalize(self, text):
        if self.normalization == "identity":
            return text
        return unicodedata.normalize(self.normalization.upper(), text)


def join_words(words: list[str]) -> str:
    """Write words with the spaces that people put between them."""
    text, quoted, sticks, closed = "", False, True, False
    for word in words:
        closes = quoted and word in QUOTES
        follows = closed and word.startswith("-") and word != "-"
        joined = closes or follows or CLOSING.fullmatch(word)
        text += word if sticks or joined else " " + word
        quoted ^= word in QUOTES
        sticks = bool(OPENING.fullmatch(word)) or (quoted and word in QUOTES)
        closed = closes
    return text.strip()


def check(file: Path):
    """Raise a `ValueError` unless a file is as it was written.

    Args:
        file: A LiteRT file. The interpreter would not see that it was cut.
    """
    content = Path(file).read_bytes()
    if hashlib.sha256(content[:-64]).hexdigest().encode() != content[-64:]:
        raise ValueError(
            "This program needs a file as the export wrote it. Received: "
            f"{file}, whose last 64 bytes are not the SHA-256 of the others. "
            "Copy the file again, or export it again."
        )


def load(file: Path) -> Callable[[list[str]], list[str]]:
    """Load the tokenizers and the model of a file.

    Args:
        file: A file that an export in the format `"litert"` wrote.

    Returns:
        A function from sentences to the best translation of each.
    """
    check(file)
    with zipfile.ZipFile(file) as archive:
        source, target = (
            Tokenizer(archive.read(f"{side}_tokenizer.json"))
            for side in ("source", "target")
        )
    run = Interpreter(str(file)).get_signature_runner("translate_ids")

    def translate(sentences):
        found = run(source_ids=source.tokenize(sentences))
        best = found["tokens"][:, 0]  # (B, T)
        return [target.detokenize(ids) for ids in best]

    return translate


def main(
    quick: bool = False,
    file: str | Path | None = None,
    sentences: list[str] | None = None,
) -> list[str]:
    """Translate sentences, and print the translations.

    Args:
        quick: Whether to translate the first sentence only.
        file: The LiteRT file. Defaults to that of the dates, in
            `saved_models`.
        sentences: Sentences to translate. Defaults to three dates.

    Returns:
        The translations.
    """
    sentences = list(sentences or SHOWN)[: 1 if quick else None]
    found = load(Path(file or ROOT / FILE))(sentences)
    for sentence, translation in zip(sentences, found, strict=True):
        print(f"{translation}  {sentence}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("file", nargs="?")
    parser.add_argument("sentences", nargs="*")
    main(**vars(parser.parse_args()))
