"""Tokenizers on tensors: the same ids and the same text as in Python."""

import json

import hostile
import numpy as np
import pytest
import source
import tensorflow as tf
from tokenizers import KINDS
from tokenizers import OPTIONS
from tokenizers import TEXT
from tokenizers import train

from keras_attention.export import TensorTokenizer
from keras_attention.text import AbstractTokenizer
from keras_attention.text import CharacterTokenizer
from keras_attention.text import ParallelTokenizer
from keras_attention.text import TaggedTokenizer
from keras_attention.text import steps

SENTENCES = [
    *("L'homme qu'il a vu : « oui » !", 'He\'s got 3.5 "km", U.S.-wide'),
    *("R&B \n isn't well-known (Obst-/Gemüse).", "„Ja“, sagt's <unk>, l'<unk>"),
    *("ΟΔΟΣ ΣΑΣ İstanbul ǅ ﬁ ①", " \u2003 leading", "'em -- -Schild '"),
]


def listed(x):
    """Strings and numbers of a result, whatever holds them."""
    if isinstance(x, list):
        return x
    if isinstance(x, tf.RaggedTensor):
        return [listed(row)[1] for row in x]
    flat = np.asarray(x).ravel().tolist()
    flat = [y.decode() if isinstance(y, bytes) else y for y in flat]
    return np.shape(x), flat


# Ids may differ where two segmentations have one probability, as "..." of ".."
# and "." has: TensorFlow comes with a `sentencepiece` of its own.
def results(tokenizer, texts, ids, unknown):
    return [
        listed(x)
        for x in (
            tokenizer.tokenize(texts),
            tokenizer.tokenize(texts, max_length=7),
            tokenizer.tokenize(texts[:0]),
            tokenizer.count(texts),
            tokenizer.surfaces(texts),
            tokenizer.tokens(ids),
            tokenizer.detokenize(ids),
            tokenizer.detokenize(ids, unknown),
        )
    ]


def check_forms(tokenizer, texts):
    ids = tokenizer.tokenize(texts)
    ids = ids if ids.ndim == 2 else ids[..., 0]
    beyond = [[2, 5, 10**6, -1, 4, 3, 6]]
    ids = np.concatenate([ids, np.resize(beyond, (1, ids.shape[1]))])
    unknown = np.where(ids == 1, "?!", "").astype(object)
    given = np.array(texts, object), ids, unknown
    wanted = results(tokenizer, *given)
    found = results(tokenizer, *map(tf.constant, given))
    for number, pair in enumerate(zip(found, wanted, strict=True)):
        assert pair[0] == pair[1], number


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_tensors_give_what_lists_give(kind, lowercase):
    texts = [x.encode() for x in SENTENCES + TEXT]
    texts += hostile.hostile_texts(300, TEXT + SENTENCES, seed=5)
    known = SENTENCES[:4] + TEXT
    options = {"lowercase": lowercase} if "lowercase" in OPTIONS[kind] else {}
    check_forms(train(kind, known, 400, **options), texts)


def test_tags_and_several_are_read_alike():
    texts = ["ein Hund\tPL; no;DAT ", "x", "\tPL", "der\t\tPL", b"\xff\t;"]
    texts = [x.encode() if isinstance(x, str) else x for x in texts]
    inner = train(CharacterTokenizer, SENTENCES)
    tagged = TaggedTokenizer(inner, ["PL", "DAT", "\ufffd"])
    check_forms(tagged, texts)
    check_forms(ParallelTokenizer([inner, tagged]), texts)
    check_forms(tagged.extended(["Jazz\tQ;PL", "x\tR", "Qu\tS"]), texts)


def test_a_saved_model_holds_the_tables(tmp_path):
    tokenizer = train(CharacterTokenizer)
    module = tf.Module()
    module.form = TensorTokenizer(tokenizer)
    spec = tf.TensorSpec((None,), tf.string)
    module.read = tf.function(module.form.tokenize, [spec], autograph=False)
    tf.saved_model.save(module, str(tmp_path / "one"))
    moved = (tmp_path / "one").rename(tmp_path / "two")
    found = tf.saved_model.load(str(moved)).read(tf.constant(TEXT))
    np.testing.assert_array_equal(found, tokenizer.tokenize(TEXT))


def test_a_step_without_a_form_is_named():
    class Shout(steps.AbstractStep):
        def read(self, value):
            return value.upper()

    class Shouting(CharacterTokenizer):
        @property
        def steps(self):
            return [Shout(), *super().steps]

    tokenizer = Shouting("AB")
    assert tokenizer.tokenize(["ab"]).tolist() == [[2, 4, 5, 3]]
    with pytest.raises(ValueError, match=r"Received: Shout\. Register a form"):
        tokenizer.tokenize(tf.constant(["ab"]))


@pytest.mark.parametrize("wrong", ["ein Hund", [["a"]], [3], [None]])
def test_no_batch_of_strings_is_refused(wrong):
    tokenizer = KINDS[0]("abc")
    with pytest.raises(ValueError, match=r"list|strings"):
        tokenizer.tokenize(wrong)
    if wrong != [None]:
        with pytest.raises(ValueError, match=r"list|strings"):
            tokenizer.tokenize(tf.constant(wrong))


def test_parts_of_a_text_are_remembered_right():
    """Python rewrites words one by one; TensorFlow whole texts."""
    words = train(KINDS[-1], SENTENCES).steps
    apart = next(x for x in words if isinstance(x, steps.Replace) and x.apart)
    whole = steps.Replace(apart.rules)
    texts = hostile.hostile_texts(1000, TEXT + SENTENCES, seed=8)
    texts = [" ".join(x.decode(errors="replace").split()) for x in texts]
    assert [*map(apart.read, texts)] == [*map(whole.read, texts)]


def test_text_is_read_without_tensorflow():
    named = {
        source.part(path)
        for path in source.FILES
        if "tensorflow" in source.imports(path)
    }
    # TensorBoard reads what one writes, and TFA wrote what the other reads.
    assert named == {"backend", "export", "training", "migration"}


def test_old_files_are_read(tmp_path):
    """Written by versions 0.2 and 0.3, with the ids that these gave."""
    golden = source.ROOT / "tests/golden/tokenizers.json"

    for case in json.loads(golden.read_text("utf-8")):
        tokenizer = AbstractTokenizer.from_json(json.dumps(case["json"]))
        texts = [bytes.fromhex(x) for x in case["texts"]]
        ids = tokenizer.tokenize(texts)
        assert ids.tolist() == case["ids"], case["json"]["class_name"]
        assert tokenizer.detokenize(ids).tolist() == case["written"]


class Own(AbstractTokenizer):
    """A tokenizer of given steps."""

    def __init__(self, *own):
        super().__init__(["a", "b"])
        self.own = own

    @property
    def steps(self):
        return [*self.own]


def test_steps_that_end_too_early_are_named():
    looks_up = steps.LookUp(["a", "b"])
    with pytest.raises(ValueError, match=r"\[Split\], which end in .* list"):
        Own(steps.Split()).tokenize(["a"])
    with pytest.raises(ValueError, match=r"LookUp\], which end in .* Words"):
        Own(steps.Split(), looks_up).detokenize([[2, 4, 3]])


@pytest.mark.parametrize(
    "rules", [("ab", "ba"), ["ab"], {"a": "b"}, iter([("a", "b")]), "ab", [1]]
)
def test_rules_are_pairs_of_strings(rules):
    with pytest.raises(ValueError, match=r"list of pairs .* rules="):
        steps.Replace(rules)


def test_other_arguments_of_steps_are_checked():
    with pytest.raises(ValueError, match=r"one character.*apart='--'"):
        steps.Replace([("a", "b")], apart="--")
    with pytest.raises(ValueError, match="separator=3"):
        steps.Split(3)


def test_the_unknown_name_may_be_an_entry():
    look_up = steps.LookUp(["<unk>", "a"])
    own = Own(steps.Split(), look_up, steps.Join(" "))
    wanted = own.tokenize(["a <unk> b"])
    assert wanted.tolist() == [[2, 5, 4, 1, 3]]
    assert own.tokenize(tf.constant(["a <unk> b"])).numpy().tolist() == (
        wanted.tolist()
    )
