"""How tokenizers are saved: as JSON, in a file or in a string."""

import json
from pathlib import Path
from typing import Self

import keras

from keras_attention.files import replaced_file
from keras_attention.text.tensors import tf

FILE_NAME = "tokenizer.json"
# What damaged JSON raises; deeply nested brackets end in the last of them.
UNUSABLE = (OSError, ValueError, LookupError, TypeError, RecursionError)


class AbstractSaved(tf.Module):
    """Saves a tokenizer as the name of its class and its config, in JSON.

    Nothing is pickled. A subclass is registered with Keras, and its
    `get_config` returns only what JSON can hold. A tokenizer that is copied,
    or sent to another process, goes by this JSON too.
    """

    def get_config(self) -> dict:
        """Return the arguments that build an equal tokenizer."""
        raise NotImplementedError

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
            JSON: the name of the class and its config.
        """
        name = keras.saving.get_registered_name(type(self))
        content = {"class_name": name, "config": self.get_config()}
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
        try:
            return cls._from_json(text)
        except UNUSABLE as error:
            raise ValueError(
                f"`{cls.__name__}.from_json` needs what `to_json` wrote. "
                f"Received: {str(text)[:40]!r}..., which cannot be used: "
                f"{type(error).__name__}: {error}. Write it again."
            ) from error

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
        try:
            return cls._from_json(file.read_text(encoding="utf-8"))
        except UNUSABLE as error:
            raise ValueError(
                f"`{cls.__name__}.load` needs a file that a tokenizer's "
                f"`save` wrote. Received: {file}, which cannot be used: "
                f"{type(error).__name__}: {error}. "
                "Save the tokenizer again, or name its folder."
            ) from error

    @classmethod
    def _from_json(cls, text):
        content = json.loads(text)
        name, config = content["class_name"], content["config"]
        found = keras.saving.get_registered_object(name)
        if not (isinstance(found, type) and issubclass(found, cls)):
            raise ValueError(f"it holds {name!r}")
        return found.from_config(config)
