"""The steps of tokenizers on tensors, with core TensorFlow operations.

`tensor_form` creates them; use it to register the form of a custom step.
"""

from collections.abc import Callable
from collections.abc import Sequence
from functools import singledispatch
from typing import Any
from typing import NamedTuple

import tensorflow as tf

from keras_attention.export.tensor_unicode import normalizer
from keras_attention.steps.primitives import PAD
from keras_attention.steps.primitives import REPLACEMENT
from keras_attention.steps.primitives import SPECIAL_NAMES
from keras_attention.steps.primitives import UNKNOWN
from keras_attention.steps.primitives import AbstractStep
from keras_attention.steps.primitives import Join
from keras_attention.steps.primitives import LookUp
from keras_attention.steps.primitives import Normalize
from keras_attention.steps.primitives import Replace
from keras_attention.steps.primitives import Split
from keras_attention.steps.tags import TAB
from keras_attention.steps.tags import Tags


class TensorPieces(NamedTuple):
    """Tokenized texts.

    Attributes:
        ids: Ragged int32 `(B, None)`.
        texts: Function that returns the text of each piece, also ragged.
    """

    ids: tf.RaggedTensor
    texts: Callable[[], tf.RaggedTensor]


class TensorWords(NamedTuple):
    """Ids with their texts before they are joined, like `Words`.

    Attributes:
        ids: `(B, T)` int32, padded with zeros.
        names: The names of all ids.
        texts: The text of each id, strings `(B, T)`.
    """

    ids: Any
    names: Sequence[str]
    texts: Any


class AbstractForm(tf.Module):
    """The form of a step on tensors: a module that owns its tables.

    Args:
        step: The step.
    """

    def __init__(self, step: AbstractStep):
        super().__init__()
        self.step = step

    def read(self, value: Any) -> Any:
        """Compute `read` of the step.

        Args:
            value: Strings `(B,)`; ragged strings after a `Split`.

        Returns:
            A value of the same kind, or `TensorPieces` from the last step.
        """
        return value

    def write(self, value: Any) -> Any:
        """Compute `write` of the step.

        Args:
            value: At first ids `(B, T)` int32, padded with zeros, and the texts
                of unknown ids `(B, T)`, or one string for all; after a
                `LookUp`, `TensorWords`.

        Returns:
            `TensorWords`, or strings `(B,)` from the last step.
        """
        return value


@singledispatch
def tensor_form(step: AbstractStep) -> AbstractForm:
    """Return the form of a step that works on tensors.

    Args:
        step: The step.

    Returns:
        The form.

    Raises:
        ValueError: If no form is registered for its class.
    """
    raise ValueError(
        "A tokenizer needs steps that have a form on tensors. Received: "
        f"{type(step).__name__}. Register a form: "
        "`tensor_form.register(MyStep, MyForm)`."
    )


def read(forms: list[AbstractForm], text) -> TensorPieces:
    """Apply `read` of all forms to strings `(B,)` in order."""
    for form in forms:
        text = form.read(text)
    return text


def write(forms: list[AbstractForm], ids, unknown):
    """Apply `write` of all forms to ids `(B, T)`, and return strings `(B,)`."""
    value = ids, unknown
    for form in forms:
        value = form.write(value)
    return value


class NormalizeForm(AbstractForm):
    """`Normalize` on tensors."""

    def read(self, value):
        text = self._normalized(value)
        if self.step.lowercase:  # which would end at a NUL
            text = tf.strings.regex_replace(text, r"\x00", REPLACEMENT)
            text = tf.strings.lower(text, encoding="utf-8")
            text = self._normalized(text)
        return text

    def _normalized(self, text):
        if self.step.form == "identity":
            return text
        return normalizer(self.step.form.upper())(text)


class ReplaceForm(AbstractForm):
    """`Replace` on tensors."""

    def read(self, value):
        for pattern, rewrite in self.step.rules:
            value = tf.strings.regex_replace(value, pattern, rewrite)
        return value


class SplitForm(AbstractForm):
    """`Split` on tensors."""

    def read(self, value):
        if self.step.separator == "":
            return tf.strings.unicode_split(value, "UTF-8")
        pieces = tf.strings.split(value, self.step.separator)
        return tf.ragged.boolean_mask(pieces, pieces != "")


def id_table(ids: dict[str, int]) -> tf.lookup.StaticHashTable:
    """Create a table from tokens to ids; others map to the unknown id.

    Args:
        ids: The tokens and their ids.
    """
    ids = {SPECIAL_NAMES[UNKNOWN]: UNKNOWN, **ids}
    content = tf.lookup.KeyValueTensorInitializer(
        [*ids], [*ids.values()], value_dtype=tf.int32
    )
    return tf.lookup.StaticHashTable(content, default_value=UNKNOWN)


class LookUpForm(AbstractForm):
    """`LookUp` on tensors.

    Args:
        step: The step.
    """

    def __init__(self, step: LookUp):
        super().__init__(step)
        self.table = id_table(step.ids)
        self.entries = [*SPECIAL_NAMES, *step.vocabulary]
        self.names = tf.constant(self.entries, tf.string)

    def read(self, value):
        ids = tf.ragged.map_flat_values(self._look_up, value)
        return TensorPieces(ids, lambda: value)

    def _look_up(self, pieces):
        ids = self.table.lookup(pieces)
        if not self.step.edges:
            return ids
        bare = tf.strings.regex_replace(pieces, self.step.edges, "")
        return tf.where(ids == UNKNOWN, self.table.lookup(bare), ids)

    def write(self, value):
        ids, unknown = value
        names = tf.gather(self.names, ids)
        texts = tf.where(ids == UNKNOWN, unknown, names)
        return TensorWords(ids, self.entries, texts)


class JoinForm(AbstractForm):
    """`Join` on tensors.

    Args:
        step: The step.
    """

    def __init__(self, step: Join):
        super().__init__(step)
        self.signs = None

    def _signs_of(self, names):
        """Return which entries match each of the four patterns."""
        if self.signs is None:
            flags = zip(*map(self.step.signs_of, names), strict=True)
            with tf.init_scope():
                self.signs = [tf.constant(column) for column in flags]
        return self.signs

    def write(self, value):
        ids, names, texts = value
        if not self.step.separator:
            return tf.strings.reduce_join(texts, axis=1)
        closes, opens, quotes, follows = (
            tf.gather(flags, ids) for flags in self._signs_of(names)
        )
        count = tf.cumsum(tf.cast(quotes, tf.int32), axis=1)  # (B, T)
        opening, closing = quotes & (count % 2 == 1), quotes & (count % 2 == 0)
        closes |= closing | (follows & _before(closing, False))
        glued = closes | _before(opens | opening, True) | (ids == PAD)
        separator = tf.where(glued, "", self.step.separator)
        stripped = tf.strings.strip(texts)  # it may be a sign such as " !"
        texts = tf.where(ids == UNKNOWN, stripped, texts)
        joined = tf.strings.reduce_join(separator + texts, axis=1)
        return tf.strings.strip(joined)


def _before(flags, first):
    """Shift flags `(B, T)` to the next token."""
    return tf.pad(flags, [[0, 0], [1, 0]], constant_values=first)[:, :-1]


class TagsForm(AbstractForm):
    """`Tags` on tensors.

    Args:
        step: The step.
    """

    def __init__(self, step: Tags):
        super().__init__(step)
        self.forms = forms_of(step.steps)
        self.table = id_table(step.ids)
        self.order = tf.constant(step.order, tf.int32)
        self.first_ids = tf.constant(step.first_ids, tf.int32)
        names = [step.names[x] for x in step.order]
        self.tags = tf.constant([*names, ""], tf.string)

    def read(self, value):
        tags = tf.strings.regex_replace(value, r"^[^\t]*\t?", "")
        tags = tf.strings.split(tags, self.step.separator)
        tags = tf.ragged.map_flat_values(tf.strings.strip, tags)
        tags = tf.ragged.boolean_mask(tags, tags != "")
        ids = tf.ragged.map_flat_values(self.table.lookup, tags)
        text = tf.strings.regex_replace(value, r"(?s)\t.*", "")
        found = read(self.forms, text)
        moved = tf.ragged.map_flat_values(self._moved, found.ids)
        return TensorPieces(
            tf.concat([ids, moved], axis=1),
            lambda: tf.concat([tags, found.texts()], axis=1),
        )

    def _moved(self, ids):
        return ids + tf.searchsorted(self.first_ids, ids, side="right")

    def write(self, value):
        ids, unknown = value
        shape = tf.shape(ids)
        number = tf.searchsorted(self.order, tf.reshape(ids, [-1]))
        number = tf.reshape(number, shape)  # of the tags before, (B, T)
        padded = tf.concat([self.order, [-1]], 0)
        is_tag = tf.gather(padded, number) == ids
        of_text = ~is_tag & (ids != PAD)
        count = tf.cumsum(tf.cast(is_tag, tf.int32), axis=1)
        before = tf.where(count == 1, TAB, self.step.separator)
        tags = tf.where(is_tag, before + tf.gather(self.tags, number), "")
        ids = ids - number
        if len(unknown.shape) > 0:
            unknown = tf.ragged.boolean_mask(unknown, of_text).to_tensor()
        text = tf.ragged.boolean_mask(ids, of_text).to_tensor(PAD)
        text = write(self.forms, text, unknown)
        return text + tf.strings.reduce_join(tags, axis=1)


def forms_of(steps: list[AbstractStep]) -> list[AbstractForm]:
    """Create the forms of steps outside any graph that is traced.

    Args:
        steps: The steps of a tokenizer.
    """
    with tf.init_scope():
        return [*map(tensor_form, steps)]


tensor_form.register(Normalize, NormalizeForm)
tensor_form.register(Replace, ReplaceForm)
tensor_form.register(Split, SplitForm)
tensor_form.register(LookUp, LookUpForm)
tensor_form.register(Join, JoinForm)
tensor_form.register(Tags, TagsForm)
