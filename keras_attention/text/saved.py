"""How tokenizers are written down: as JSON, in a file or in a string."""

import json
import os
from pathlib import Path

import keras
import tensorflow as tf

FILE_NAME = "tokenizer.json"


class AbstractSaved(tf.Module):
    """Is saved as its class and its config, in JSON; nothing is pickled.

    A subclass is registered with Keras, and its `get_config` holds what JSON
    can hold.
    """

    def get_config(self) -> dict:
        """Name the arguments that build an equal tokenizer."""
        raise NotImplementedError

    @classmethod
    def from_config(cls, config: dict):
        """Build the tokenizer that `get_config` describes."""
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
    def from_json(cls, text: str):
        """Read what `to_json` wrote.

        Args:
            text: The JSON.

        Returns:
            A tokenizer of the class that was written.

        Raises:
            ValueError: If it is damaged, not a tokenizer's, or that of
                another class than the one that reads.
        """
        try:
            return cls._from_json(text)
        except (ValueError, LookupError, TypeError) as error:
            raise ValueError(
                f"`{cls.__name__}.from_json` needs what `to_json` wrote. "
                f"Received: {str(text)[:40]!r}..., which cannot be used: "
                f"{type(error).__name__}: {error}. Write it again."
            ) from error

    def save(self, folder: str | Path):
        """Write the tokenizer as one JSON file, whole or not at all.

        Args:
            folder: Where `tokenizer.json` goes; made if it is not there.
        """
        file = Path(folder) / FILE_NAME
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f"{FILE_NAME}.{os.getpid()}.part")
        draft.write_text(self.to_json(), encoding="utf-8")
        draft.replace(file)

    @classmethod
    def load(cls, folder: str | Path):
        """Read what `save` wrote.

        Args:
            folder: Where `tokenizer.json` is.

        Returns:
            A tokenizer of the class that was saved.

        Raises:
            ValueError: If the file is missing, damaged, not a tokenizer's,
                or that of another class than the one that loads.
        """
        file = Path(folder) / FILE_NAME
        try:
            return cls._from_json(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, LookupError, TypeError) as error:
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
