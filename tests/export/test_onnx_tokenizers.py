"""Tokenizers in onnxruntime alone: the ids and texts of Python."""

import unicodedata

import numpy as np
import onnx
import pytest
from alone import run_alone
from hostile import hostile_texts
from onnx import TensorProto
from onnx.helper import make_tensor_value_info as value
from tiers import SLOW
from tiers import some

from keras_attention import CharacterTokenizer
from keras_attention import SentencePieceTokenizer
from keras_attention import SymbolTokenizer
from keras_attention import TaggedTokenizer
from keras_attention import WordPieceTokenizer
from keras_attention import WordTokenizer
from keras_attention.export.onnx_steps import NormalizeForm
from keras_attention.export.onnx_steps import OnnxText
from keras_attention.export.onnx_steps import read
from keras_attention.export.onnx_steps import write_ids
from keras_attention.export.onnx_strings import NO_CHARACTER
from keras_attention.export.onnx_strings import NUL
from keras_attention.export.onnx_strings import OnnxStrings
from keras_attention.export.onnx_text import OPSETS
from keras_attention.export.onnx_text import spell
from keras_attention.text import AbstractTokenizer
from keras_attention.text import copied_ids
from keras_attention.text import steps

SENTENCES = [
    "Ein Mann, der „lacht“ : 3.5 km! d'accord",
    "l'homme don't \"x\" (a) Obst- -Schild it's !",
    "e\u0301 가 é ﬁ; \u1100\u1161 U.S. a/b R&B ẛ̣",
]
TEXTS = [
    *(x.decode("utf-8", "replace") for x in hostile_texts(130, SENTENCES, 1)),
    *SENTENCES,
    "\U00011f50 \u0870x",  # letters of Unicode 15 and 14
    "x " * 3000,
]
TAGGED = [
    x + "\t" * (i % 3) + "V ; PST;\t x;  ;\n ü \r" for i, x in enumerate(TEXTS)
]
BATCHES = [[], [""], ["", ""], *(TEXTS[i : i + 33] for i in (0, 33, 66, 99))]
CASES = {
    "symbol": (SymbolTokenizer, {}),
    "pieces": (SentencePieceTokenizer, {"vocabulary_size": 350}),
    "pieces without bytes": (
        SentencePieceTokenizer,
        {"model_type": "bpe", "normalization": "nfc"},
    ),
    "word pieces": (WordPieceTokenizer, {}),
    "word pieces lower": (WordPieceTokenizer, {"lowercase": True}),
    **{
        f"{name} {form}": (kind, {"normalization": form})
        for form in ("nfkd", "nfc", "identity")
        for name, kind in (
            ("character", CharacterTokenizer),
            ("word", WordTokenizer),
        )
    },
}


def train(kind, options):
    options = {"vocabulary_size": 200, **options}
    return kind.train([*SENTENCES, *TEXTS[:50]], **options)


def save(add, path, given, *results):
    graph = onnx.helper.make_graph(add.nodes, "g", [given], results)
    opsets = [onnx.helper.make_opsetid(*x) for x in OPSETS.items()]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


def check_reading(tokenizer, path, batches, limit, extensions):
    add, nul = OnnxStrings(), (NUL, NO_CHARACTER if extensions else NUL)
    ids, words = read(add, tokenizer.steps, OnnxText(add, "text"))
    count, size = add("Shape", "text"), tokenizer.vocabulary_size
    framed = add.framed(ids, count, limit)
    results = [value(framed, TensorProto.INT32, "BT")]
    if words is not None:
        words = add.framed_words(words, ids, count, limit)
        spelled = spell(add, framed, words, size)
        results.append(value(spelled, TensorProto.INT32, "BT"))
        results.append(value(words, TensorProto.STRING, "BT"))
    save(add, path, value("text", TensorProto.STRING, [None]), *results)
    found = run_alone(path, batches, extensions)
    for texts, answer in zip(batches, found, strict=True):
        ids = tokenizer.tokenize(texts, limit)
        strings = np.full(ids.shape, "", object)
        for row, pieces in zip(strings, tokenizer.surfaces(texts), strict=True):
            pieces = pieces[: limit and limit - 2]
            row[1 : len(pieces) + 1] = [x.replace(*nul) for x in pieces]
        spelled = [
            copied_ids(row, words, words, size)
            for row, words in zip(ids.tolist(), strings, strict=True)
        ]
        wanted = (ids, spelled, strings)[: len(answer)]
        for x, y in zip(answer, wanted, strict=True):
            y = np.array(y, object).reshape(ids.shape)  # keeps zero bytes
            np.testing.assert_array_equal(x, y)


def check_writing(tokenizer, path, extensions=False):
    add = OnnxStrings()
    result = write_ids(add, tokenizer, "ids")
    ids = value("ids", TensorProto.INT64, [None, None])
    save(add, path, ids, value(result, TensorProto.STRING, [None]))
    draw = np.random.default_rng(0)
    words = [1, *range(4, tokenizer.vocabulary_size)]
    batches = []
    for shape in [(0, 3), (2, 0), (30, 1), (200, 8), (50, 21)]:
        batches.append(draw.choice(words, shape))
        for row in batches[-1]:
            row[draw.integers(0, shape[1] + 1) :] = 0
    found = run_alone(path, batches, extensions)
    for ids, (texts,) in zip(batches, found, strict=True):
        assert texts.tolist() == tokenizer.detokenize(ids).tolist()


# Tags come before characters and words of another form, see below.
@pytest.mark.parametrize(
    "case", [*some([*CASES][:7], 1, SLOW), *some([*CASES][7:], 0)]
)
def test_ids_and_texts_are_those_of_the_tokenizer(case, tmp_path):
    kind, options = CASES[case]
    tokenizer = train(kind, options)
    extensions = kind not in (CharacterTokenizer, SymbolTokenizer)
    path = tmp_path / "x.onnx"
    check_reading(tokenizer, path, BATCHES, None, extensions)
    check_writing(tokenizer, path)


@pytest.mark.parametrize("case", some(["character nfc", "word nfc"], 1, SLOW))
def test_tags_come_first(case, tmp_path):
    kind, options = CASES[case]
    inner = train(kind, options)
    tokenizer = TaggedTokenizer(inner, ["V", "PST", " ü"], ";")
    path, extensions = tmp_path / "x.onnx", kind is WordTokenizer
    batches = [[], [""], TAGGED[:60]]
    for given in (tokenizer, tokenizer.extended(["Ж\tQ;V", "Ж\tPST"])):
        check_reading(given, path, batches, 9, extensions)
        check_writing(given, path)


@pytest.mark.slow
def test_every_character_is_normalized(tmp_path):
    letters = [chr(x) for x in range(1, 0x30000) if not 0xD800 <= x < 0xE000]
    marked = [x + "\u0323\u0301" for x in letters[::50]]
    add, forms = OnnxStrings(), ("NFC", "NFD", "NFKC", "NFKD")
    read = OnnxText(add, "text")
    results = [
        NormalizeForm(steps.Normalize(form.lower())).read(add, read).text
        for form in forms
    ]
    texts = [value(x, TensorProto.STRING, [None]) for x in ("text", *results)]
    save(add, tmp_path / "x.onnx", *texts)
    (answer,) = run_alone(tmp_path / "x.onnx", [[*letters, *marked]])
    for form, found in zip(forms, answer, strict=True):
        wanted = [unicodedata.normalize(form, x) for x in (*letters, *marked)]
        assert found.tolist() == wanted


@pytest.mark.parametrize("form", some(["nfc", "nfkd", "nfkc", "nfd"], 1, SLOW))
def test_letters_are_lowered_one_by_one(form, tmp_path):
    """A final sigma apart, it is the lower case of Python."""
    letters = [chr(x) for x in range(1, 0x30000) if not 0xD800 <= x < 0xE000]
    texts = ["", "A\0B", "E\u0301I\u0307", *letters[::7], "ΣΑΣΑ \u1d2c\u1d573"]
    step, add = steps.Normalize(form, lowercase=True), OnnxStrings()
    found = NormalizeForm(step).read(add, OnnxText(add, "text")).text
    names = [value(x, TensorProto.STRING, [None]) for x in ("text", found)]
    save(add, tmp_path / "x.onnx", *names)
    batches = [texts, *([x] for x in ("DIE", "D\u0130E", "\u0130", "E\u0301"))]
    answers = run_alone(tmp_path / "x.onnx", batches)
    for batch, (answer,) in zip(batches, answers, strict=True):
        assert answer.tolist() == [*map(step.read, batch)]


def test_a_letter_becomes_two_in_lower_case(tmp_path):
    tokenizer = CharacterTokenizer(["i", "\u0307", "a"], lowercase=True)
    batches = [["\u0130A"], ["IA"]]
    check_reading(tokenizer, tmp_path / "x.onnx", batches, None, False)


class Syllables(AbstractTokenizer):
    """A tokenizer of one's own: parts between hyphens, in lower case."""

    @property
    def steps(self):
        return [
            steps.Normalize("nfc", lowercase=True),
            steps.Split("-"),
            steps.LookUp(self.vocabulary),
            steps.Join("-", closes="[!?]"),
        ]


def test_an_own_tokenizer_is_written_by_its_steps(tmp_path):
    tokenizer = Syllables(["ba", "na", "é", "!", "i\u0307"])
    texts = ["BA-NA-na", "", "-E\u0301--x-!", "\u0130-ba", "a\0B-ÉÀ"]
    check_reading(tokenizer, tmp_path / "x.onnx", [[], texts], None, False)
    check_writing(tokenizer, tmp_path / "x.onnx")


class Kinds(AbstractTokenizer):
    """A tokenizer of one's own, which replaces categories of Unicode."""

    @property
    def steps(self):
        return [
            steps.Replace([(r"\pN+", "0"), (r"\PM*\x{2019}|[\pP-]", r"-\0-")]),
            steps.Split("-"),
            steps.LookUp(self.vocabulary),
            steps.Join("-"),
        ]


@pytest.mark.slow
def test_own_patterns_are_written_for_onnx(tmp_path):
    tokenizer = Kinds(["a0", "b", "\u2019", "!"])
    texts = ["a12!b", "", "a\u0301\u2019b-a٣", "\U00011f50é!!3b"]
    check_reading(tokenizer, tmp_path / "x.onnx", [[], texts], None, True)
    check_writing(tokenizer, tmp_path / "x.onnx")
