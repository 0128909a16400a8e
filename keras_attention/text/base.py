"""The base of all tokenizers: special ids, steps, framing and files."""

import json
import sys
from collections.abc import Callable
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

# How to find the class whose objects read TensorFlow tensors. It is in a higher
# layer of the package, which registers where, and it is imported when the first
# tensor arrives. A caller who has such a tensor has imported TensorFlow.
_finders: list[Callable[[], type]] = []
FILE_NAME = "tokenizer.json"


class AbstractTokenizer(AbstractReader):
    """Converts strings to ids and back.

    The ids 0 to 3 are padding, unknown, start and end. The entries of the
    vocabulary begin at 4. A subclass defines `steps`, which fully describe
    the tokenizer, and `get_config`. Python runs these steps, and exports
    translate them to operations of TensorFlow, LiteRT and ONNX.

    Methods that take strings accept a list, an array or a table column, and
    return NumPy arrays or lists. If you pass a TensorFlow string tensor, they
    return tensors, also inside a `tf.function` or `tf.data.Dataset.map`. To
    save such a function in a SavedModel, make
    `keras_attention.export.TensorTokenizer(tokenizer)` an attribute of the
    saved object, because it owns the lookup tables.

    Invalid UTF-8 bytes are replaced by U+FFFD. Lowercasing keeps the German
    "ß", which case folding would convert to "ss".

    A tokenizer is saved as JSON with the name of its class, which is
    registered with Keras, and its config. Copying and pickling use the same
    JSON.

    Args:
        names: The vocabulary entries, with the ids 4, 5, ... in this order.
        normalization: A Unicode normalization form, or `"identity"` for none.
            `"nfc"` leaves typed text unchanged; `"nfd"` splits Hangul and
            accented letters into their parts. `"nfkc"` and `"nfkd"` also
            replace compatibility characters, such as "tʰ" by "th" and "②" by
            "2", so that decoded targets differ from the original text.
            Defaults to `"nfc"`.
        lowercase: Whether to lowercase text. Defaults to `False`.

    Raises:
        ValueError: If `normalization` is not one of these names, or `lowercase`
            is not a boolean.

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
        """Convert strings to ids.

        Args:
            text: Strings `(B,)`: a list, an array or a tensor.
            max_length: Maximum length of a row, including start and end id. A
                longer row is truncated, but still ends with the end id.
                Defaults to `None`, which means no limit.

        Returns:
            Ids `(B, T)` int32: start, text, end, and zeros as padding.

        Raises:
            ValueError: If the shape of `text` is not `(B,)`, or `max_length` is
                not an integer of at least 2.
        """
        if max_length is not None:
            check_integer("max_length", max_length, FRAME)
        if is_tensor(checked_strings(text)):
            return self._form.tokenize(text, max_length)
        return super().tokenize(as_texts("text", text), max_length)

    def count(self, text: Any):
        """Count the ids of `tokenize`, with memory linear in the text.

        Args:
            text: Strings `(B,)`: a list, an array or a tensor.

        Returns:
            `(B,)` int32, including start and end.

        Raises:
            ValueError: If `text` is not `(B,)`.
        """
        if is_tensor(checked_strings(text)):
            return self._form.count(text)
        texts = as_texts("text", text)
        return np.array([FRAME + len(self.read(x).ids) for x in texts], "int32")

    def surfaces(self, text: Any):
        """Split strings into the pieces that the ids of `tokenize` stand for.

        Args:
            text: Strings `(B,)`: a list, an array or a tensor.

        Returns:
            For each string, a list with the piece of the normalized text for
            each id, without start and end. For a tensor, a ragged tensor
            `(B, None)`.

        Raises:
            ValueError: If `text` is not `(B,)`.
        """
        if is_tensor(checked_strings(text)):
            return self._form.surfaces(text)
        return [self.read(x).texts() for x in as_texts("text", text)]

    def unknown(self, text: Any) -> list[list[str]]:
        """List the pieces of strings that are not in the vocabulary.

        Args:
            text: Strings `(B,)`: a list, an array or a tensor.

        Returns:
            For each string, the characters, words, pieces or tags of the
            normalized text that get the unknown id, in order.

        Raises:
            ValueError: If `text` is not `(B,)`.
        """
        return super().unknown(as_texts("text", checked_strings(text)))

    def detokenize(self, ids: Any, unknown: Any = None):
        """Convert ids to strings.

        Args:
            ids: `(B, T)` int32 or int64. Padding, start ids, and everything
                after the first end id are ignored.
            unknown: Strings `(B, T)` that replace unknown ids at the same
                positions; `unknown_text` is used where a string is empty.
                Defaults to `None`, which uses `unknown_text` everywhere.

        Returns:
            Strings `(B,)`. Ids outside the vocabulary are unknown.

        Raises:
            ValueError: If `ids` is not an integer array `(B, T)`, or `unknown`
                has another shape.
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
                    "`unknown` must have the same shape as `ids`. Received: "
                    f"unknown.shape={unknown.shape}, ids.shape={ids.shape}. "
                    'Use "" for known ids.'
                )
            flat = as_texts("unknown", unknown.ravel())
            unknown = np.array(flat, object).reshape(unknown.shape)
        return super().detokenize(ids, unknown)

    def tokens(self, ids: Any):
        """Return the token of each id, as shown in attention plots.

        Args:
            ids: `(...)` int32 or int64.

        Returns:
            Strings of the same shape. Padding is empty, start and end are `<s>`
            and `</s>`; unknown ids and ids outside the vocabulary are `<unk>`.
        """
        check_dense("`tokens` needs ids", "ids", ids)
        if is_tensor(ids):
            return self._form.tokens(ids)
        return super().tokens(_as_ids("tokens", ids))

    def get_config(self) -> dict:
        """Return the constructor arguments as JSON-compatible values."""
        return {
            "normalization": self.normalization,
            "lowercase": self.lowercase,
        }

    @classmethod
    def from_config(cls, config: dict) -> Self:
        """Create a tokenizer from the result of `get_config`.

        Args:
            config: The constructor arguments.

        Returns:
            The tokenizer.
        """
        return cls(**config)

    def to_json(self) -> str:
        """Serialize the tokenizer to JSON, as `save` does.

        Returns:
            JSON with the class name and the config. It also contains the steps,
            with all vocabularies that are not in the config, so that programs
            without this class can use the file. The steps are omitted if their
            tokens differ from those in `vocabulary`.
        """
        name, config = (
            keras.saving.get_registered_name(type(self)),
            self.get_config(),
        )
        content = {"class_name": name, "config": config}
        entries = [[*x.entries] for x in self.steps if x.entries is not None]
        if self.parts == [self] and entries == [self.vocabulary]:
            content["unknown_text"] = self.unknown_text
            content["steps"] = [step.describe(config) for step in self.steps]
        return json.dumps(content, ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Create a tokenizer from the result of `to_json`.

        Args:
            text: The JSON.

        Returns:
            A tokenizer of the serialized class.

        Raises:
            ValueError: If the text is damaged, is not a tokenizer, or contains
                a tokenizer whose class is not a subclass of this one.
        """
        needed = f"`{cls.__name__}.from_json` needs the result of `to_json`."
        with reading(f"{str(text)[:40]!r}...", needed, "Write it again."):
            return cls._from_json(text)

    def __reduce__(self):
        return type(self).from_json, (self.to_json(),)

    def save(self, folder: str | Path) -> None:
        """Save the tokenizer to a JSON file, either completely or not at all.

        Args:
            folder: The folder for `tokenizer.json`. It is created if missing.
        """
        with replaced_file(Path(folder) / FILE_NAME, ".json") as draft:
            draft.write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Load a saved tokenizer.

        Args:
            folder: The folder that contains `tokenizer.json`.

        Returns:
            A tokenizer of the saved class.

        Raises:
            ValueError: If the file is missing or damaged, is not a tokenizer,
                or contains a tokenizer whose class is not a subclass of this
                one.
        """
        file = Path(folder) / FILE_NAME
        needed = f"`{cls.__name__}.load` needs a file that `save` wrote."
        way_out = "Save the tokenizer again, or pass its folder."
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
                "defines it, or upgrade this package if a newer version wrote "
                "the file"
            )
        if not (isinstance(kind, type) and issubclass(kind, cls)):
            raise ValueError(f"it contains {name!r}")
        return kind.from_config(config)

    def extended(self, texts: Iterable[str]) -> Self:
        """Return a tokenizer with additional vocabulary entries.

        Args:
            texts: Texts with new characters, words, symbols or tags.

        Returns:
            A new tokenizer that covers these texts. Old entries keep their ids;
            new entries follow, ordered by frequency.

        Raises:
            ValueError: If this is a subword tokenizer, whose ids depend on the
                text that it was trained on.
        """
        raise ValueError(
            f"{type(self).__name__} cannot be extended, because its ids depend "
            f"on the text that it was trained on. Received: {len([*texts])} "
            "texts. Train a new tokenizer and a new model."
        )


def checked_strings(text: Any) -> Any:
    """Reject ragged and sparse string tensors.

    Args:
        text: The strings that the user passed.

    Returns:
        `text`.

    Raises:
        ValueError: If it is such a tensor.
    """
    way_out = (
        "Pass its `flat_values`, or its `to_tensor()` where rows are needed."
    )
    check_dense("A tokenizer needs strings", "text", text, way_out)
    return text


def _as_ids(method, ids):
    ids = np.asarray(keras.ops.convert_to_numpy(ids))
    if ids.dtype.kind in "iu":
        return ids
    if 0 not in ids.shape:  # of which nobody knows the type
        raise ValueError(
            f"`{method}` needs integer ids. Received: ids of {ids.dtype}. Cast "
            "them."
        )
    return ids.astype("int32")


def is_tensor(value: Any) -> bool:
    """Return whether a value is a TensorFlow tensor.

    Args:
        value: Any object.
    """
    package = sys.modules.get("tensorflow")
    return package is not None and package.is_tensor(value)


def find_forms_by(find: Callable[[], type]):
    """Register how to find the class whose objects read tensors.

    Args:
        find: Function that returns the class, a `TensorTokenizer`.
    """
    _finders[:] = [find]


def form_of(tokenizer):
    """Return the form of a tokenizer that reads and returns tensors.

    Args:
        tokenizer: The tokenizer.

    Returns:
        A `keras_attention.export.TensorTokenizer`.
    """
    (find,) = _finders
    return find()(tokenizer)
