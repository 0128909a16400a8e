"""What all tokenizers share: special ids, steps, frames, and files."""

import json
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any
from typing import Self

import keras
import numpy as np

from keras_attention.arrays import check_dense
from keras_attention.checks import check_integer
from keras_attention.files import open_to_read
from keras_attention.files import reading
from keras_attention.files import replaced_file
from keras_attention.steps.primitives import Normalize
from keras_attention.steps.reader import FRAME
from keras_attention.steps.reader import AbstractReader
from keras_attention.text.sentences import as_texts
from keras_attention.text.tensors import form_of
from keras_attention.text.tensors import is_tensor

FILE_NAME = "tokenizer.json"


class AbstractTokenizer(AbstractReader):
    """Turns strings into ids and back.

    The ids 0 to 3 are pad, unknown, start and end. The tokens of a vocabulary
    begin at 4. A subclass has `steps`, which say all that it does, and
    `get_config`. Python runs the steps; exports write them for TensorFlow,
    LiteRT and ONNX.

    What takes strings takes a list, an array or a column of a table, and
    returns NumPy arrays, or lists. From a tensor of strings of TensorFlow it
    returns tensors, also inside a `tf.function` or `tf.data.Dataset.map`. To
    write such a function to a SavedModel, track
    `keras_attention.export.TensorTokenizer(tokenizer)`, which has the tables.

    Bytes that are not UTF-8 are read as U+FFFD. Lower case is not case
    folding, which would turn the German "ß" into "ss".

    A tokenizer is saved as the name of its class, which is registered with
    Keras, and its config, in JSON. Nothing is pickled: one that is copied, or
    sent to another process, goes by this JSON too.

    Args:
        names: The names of the ids from 4 on, in their order.
        normalization: A form of Unicode, or `"identity"` for none. `"nfc"`
            changes no text that keyboards write; `"nfd"` cuts Hangul and
            letters with marks into their parts. `"nfkc"` and `"nfkd"` also
            replace what looks special, such as "tʰ" by "th" and "②" by "2",
            so targets come back as other strings. Defaults to `"nfc"`.
        lowercase: Whether to put text into lower case. Defaults to `False`.

    Raises:
        ValueError: If `normalization` is not one of these, or `lowercase` is
            not a boolean.

    Example:

    >>> import keras
    >>> from keras_attention.text import AbstractTokenizer, steps
    >>> @keras.saving.register_keras_serializable(package="mine")
    ... class Syllables(AbstractTokenizer):
    ...     @property
    ...     def steps(self):
    ...         return [
    ...             steps.Normalize(self.normalization, self.lowercase),
    ...             steps.Split("-"),
    ...             steps.LookUp(self.vocabulary),
    ...             steps.Join("-"),
    ...         ]
    ...     def get_config(self):
    ...         return {"names": self.vocabulary, **super().get_config()}
    >>> tokenizer = Syllables(["ba", "na"])
    >>> ids = tokenizer.tokenize(["ba-na-na"])
    >>> ids.tolist(), tokenizer.detokenize(ids).tolist()
    ([[2, 4, 5, 5, 3]], ['ba-na-na'])
    """

    def __init__(
        self,
        names: Iterable[str],
        normalization: str = "nfc",
        lowercase: bool = False,
    ):
        self.cleaning = Normalize(normalization, lowercase)
        self.normalization = normalization
        self.lowercase = lowercase
        super().__init__(names)

    @cached_property
    def _form(self):
        return form_of(self)

    def tokenize(self, text: Any, max_length: int | None = None):
        """Turn strings into ids.

        Args:
            text: Strings `(B,)`: a list, an array or a tensor.
            max_length: The maximum length of a row, with start and end. A
                longer row is cut, and still closed by the end id. Defaults to
                `None`, no limit.

        Returns:
            Ids `(B, T)` int32: start, the text, end, zeros to the right.

        Raises:
            ValueError: If `text` is not `(B,)`, or `max_length` is not an
                integer of at least 2.
        """
        if max_length is not None:
            check_integer("max_length", max_length, FRAME)
        if is_tensor(checked_strings(text)):
            return self._form.tokenize(text, max_length)
        return super().tokenize(as_texts("text", text), max_length)

    def count(self, text: Any):
        """Count the ids of `tokenize`, in memory linear in the text.

        Args:
            text: Strings `(B,)`: a list, an array or a tensor.

        Returns:
            `(B,)` int32, start and end included.

        Raises:
            ValueError: If `text` is not `(B,)`.
        """
        if is_tensor(checked_strings(text)):
            return self._form.count(text)
        texts = as_texts("text", text)
        return np.array([FRAME + len(self.read(x).ids) for x in texts], "int32")

    def surfaces(self, text: Any):
        """Split strings into the pieces behind the ids of `tokenize`.

        Args:
            text: Strings `(B,)`: a list, an array or a tensor.

        Returns:
            For each string a list of strings, of a tensor a ragged tensor
            `(B, None)`: the piece of the cleaned text behind each id between
            start and end.

        Raises:
            ValueError: If `text` is not `(B,)`.
        """
        if is_tensor(checked_strings(text)):
            return self._form.surfaces(text)
        return [self.read(x).texts() for x in as_texts("text", text)]

    def unknown(self, text: Any) -> list[list[str]]:
        """List what the tokenizer does not know.

        Args:
            text: Strings `(B,)`: a list, an array or a tensor.

        Returns:
            For each text the characters, words, pieces or tags of the cleaned
            text that get the unknown id, in their order.

        Raises:
            ValueError: If `text` is not `(B,)`.
        """
        return super().unknown(as_texts("text", checked_strings(text)))

    def detokenize(self, ids: Any, unknown: Any = None):
        """Turn ids into strings.

        Args:
            ids: `(B, T)` int32 or int64. Pads and starts are dropped, and so
                is everything from the first end on.
            unknown: Strings `(B, T)`: the text of an unknown id in the same
                place. `unknown_text` where it is empty. Defaults to `None`,
                `unknown_text` everywhere.

        Returns:
            Strings `(B,)`. An id that is not in the vocabulary counts as
            unknown.

        Raises:
            ValueError: If `ids` is not `(B, T)`, or not of integers, or
                `unknown` has another shape.
        """
        check_dense("`detokenize` needs ids `(B, T)`", "ids", ids)
        if is_tensor(ids):
            return self._form.detokenize(ids, unknown)
        ids = _as_ids("detokenize", ids)
        if ids.ndim != 2:
            raise ValueError(
                "`detokenize` needs a batch of rows, `(B, T)`. "
                f"Received: ids.shape={ids.shape}. Put one row into a list."
            )
        if unknown is not None:
            check_dense("A tokenizer needs strings", "unknown", unknown)
            unknown = np.asarray(unknown, object)
            if unknown.shape != ids.shape:
                raise ValueError(
                    "`detokenize` needs `unknown` of the shape of the ids, "
                    '"" for those that are known. Received: unknown.shape='
                    f"{unknown.shape}, ids.shape={ids.shape}."
                )
            flat = as_texts("unknown", unknown.ravel())
            unknown = np.array(flat, object).reshape(unknown.shape)
        return super().detokenize(ids, unknown)

    def tokens(self, ids: Any):
        """Look up the name of every id, as plots of the attention show it.

        Args:
            ids: `(...)` int32 or int64.

        Returns:
            Strings of the same shape. Pad is empty, start and end are `<s>`
            and `</s>`, unknown and ids outside the vocabulary are `<unk>`.
        """
        check_dense("`tokens` needs ids", "ids", ids)
        if is_tensor(ids):
            return self._form.tokens(ids)
        return super().tokens(_as_ids("tokens", ids))

    def get_config(self) -> dict:
        """Return the arguments that build an equal tokenizer, for JSON."""
        return {
            "normalization": self.normalization,
            "lowercase": self.lowercase,
        }

    @classmethod
    def from_config(cls, config: dict) -> Self:
        """Build a tokenizer from what `get_config` returned.

        Args:
            config: The arguments of the constructor, as JSON holds them.

        Returns:
            The tokenizer.
        """
        return cls(**config)

    def to_json(self) -> str:
        """Write the tokenizer as text, as `save` does.

        Returns:
            JSON: the name of the class, its config, and for readers without
            the class its steps, with vocabularies that are not in the config.
        """
        name, config = (
            keras.saving.get_registered_name(type(self)),
            self.get_config(),
        )
        content = {"class_name": name, "config": config}
        if self.parts == [self]:
            content["unknown_text"] = self.unknown_text
            content["steps"] = [step.describe(config) for step in self.steps]
        return json.dumps(content, ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Args:
            text: The JSON.

        Returns:
            A tokenizer of the class that was written.

        Raises:
            ValueError: If the text is damaged, is not a tokenizer, or holds
                one of a class that is not a subclass of this one.
        """
        needed = f"`{cls.__name__}.from_json` needs what `to_json` wrote."
        with reading(f"{str(text)[:40]!r}...", needed, "Write it again."):
            return cls._from_json(text)

    def __reduce__(self):
        return type(self).from_json, (self.to_json(),)

    def save(self, folder: str | Path) -> None:
        """Write the tokenizer to a JSON file, whole or not at all.

        Args:
            folder: The folder of `tokenizer.json`. It is made if missing.
        """
        with replaced_file(Path(folder) / FILE_NAME, ".json") as draft:
            draft.write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what `save` wrote.

        Args:
            folder: The folder of `tokenizer.json`.

        Returns:
            A tokenizer of the class that was saved.

        Raises:
            ValueError: If the file is missing or damaged, is not a tokenizer,
                or holds one of a class that is not a subclass of this one.
        """
        file = Path(folder) / FILE_NAME
        needed = f"`{cls.__name__}.load` needs a file that `save` wrote."
        way_out = "Save the tokenizer again, or name its folder."
        with reading(file, needed, way_out):
            with open_to_read(file, folder) as content:
                return cls._from_json(content.read().decode("utf-8"))

    @classmethod
    def _from_json(cls, text):
        content = json.loads(text)
        name, config = content["class_name"], content["config"]
        kind = keras.saving.get_registered_object(name)
        if kind is None:
            raise ValueError(
                f"no class is registered as {name!r}. Import the module that "
                "has it, or upgrade this package if a newer one wrote it"
            )
        if not (isinstance(kind, type) and issubclass(kind, cls)):
            raise ValueError(f"it holds {name!r}")
        return kind.from_config(config)

    def extended(self, texts: Iterable[str]) -> Self:
        """Return a tokenizer with more entries, after the old ones.

        Args:
            texts: Texts with new characters, words, symbols or tags.

        Returns:
            A new tokenizer, which knows all of them. Old entries keep their
            ids. New ones are ordered by their frequency.

        Raises:
            ValueError: If it is a tokenizer of pieces, whose ids depend on the
                text that it was trained on.
        """
        raise ValueError(
            f"{type(self).__name__} cannot be extended, because its ids depend "
            f"on the text that it was trained on. Received: {len([*texts])} "
            "texts. Train a new one, and a new model."
        )


def checked_strings(text: Any) -> Any:
    """Refuse ragged and sparse tensors of strings.

    Args:
        text: What the user gave.

    Returns:
        `text`.

    Raises:
        ValueError: If it is such a tensor.
    """
    way_out = (
        "Give its `flat_values`, or its `to_tensor()` where rows are needed."
    )
    check_dense("A tokenizer needs strings", "text", text, way_out)
    return text


def _as_ids(method, ids):
    ids = np.asarray(keras.ops.convert_to_numpy(ids))
    if ids.dtype.kind in "iu":
        return ids
    if 0 not in ids.shape:  # of which nobody knows the type
        raise ValueError(
            f"`{method}` needs ids of integers. Received: ids of {ids.dtype}. "
            "Cast them."
        )
    return ids.astype("int32")
