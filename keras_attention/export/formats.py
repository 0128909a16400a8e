"""The export formats and the options of each."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from typing import NamedTuple

from keras_attention.checks import check_choice
from keras_attention.extras import require

# Of a translator.
OPTIONS = ("max_source_length", "replace_unknown")
OUTPUTS = ("translations", "scores")  # what every file gives
MORE_OUTPUTS = ("token_scores", "attention")  # what it can give as well
TEXT_OUTPUTS = (*OUTPUTS, "source_tokens", "target_tokens", *MORE_OUTPUTS)


class ExportFormat(NamedTuple):
    """A format that `Translator.export` can write.

    Attributes:
        name: The value of `format`, such as `"onnx"`.
        write: Function `write(path, model, source_tokenizer,
            target_tokenizer, search)`, which writes a file or a folder,
            either completely or not at all. All other arguments are passed by
            keyword.
        options: Which of `"max_source_length"` and `"replace_unknown"` are
            passed to `write`, with the values of the translator. Defaults to
            `()`.
        takes_quantize: Whether `write` accepts `quantize`, which is passed if
            the user sets it. Defaults to `False`.
        suffix: The file extension, such as `".onnx"`. It selects the first
            format with this extension if the user names no format. Defaults
            to `""`, which means folders and files with any other extension.
        takes_outputs: Whether `write` accepts `outputs`, which are passed if
            the user requests more than `OUTPUTS`. They contain all of
            `OUTPUTS`, and then some of `MORE_OUTPUTS`. Defaults to `False`.
    """

    name: str
    write: Callable[..., None]
    options: tuple[str, ...] = ()
    takes_quantize: bool = False
    suffix: str = ""
    takes_outputs: bool = False

    def keywords(
        self,
        translator: Any,
        quantize: str | None,
        outputs: Collection[str],
    ) -> dict[str, Any]:
        """Return the keyword arguments for `write`.

        Args:
            translator: A `Translator`, which provides the values of `OPTIONS`.
            quantize: The requested quantization, or `None`. `write` checks its
                value.
            outputs: All of `OUTPUTS`, and some of `MORE_OUTPUTS`.

        Raises:
            ValueError: If the format does not support one of them, or an output
                is unknown.
        """
        outputs = check_outputs(outputs)
        given = {"quantize": quantize} if quantize is not None else {}
        given |= {"outputs": outputs} if outputs != OUTPUTS else {}
        for option, value in given.items():
            field = f"takes_{option}"
            if not getattr(self, field):
                able = tuple(k for k, x in FORMATS.items() if getattr(x, field))
                raise ValueError(
                    f"`{option}` needs a format that supports it, one of "
                    f"{able}. Received: format={self.name!r}, "
                    f"{option}={value!r}. Use one of these, or leave "
                    f"`{option}` out."
                )
        options = {name: getattr(translator, name) for name in self.options}
        return options | given


# Endings of files, where no folder is meant.
FOREIGN = {".zip", ".keras", ".h5", ".pb", ".pt", ".json", ".gz"}
FORMATS: dict[str, ExportFormat] = {}


def register_format(format: ExportFormat):
    """Register a format for `Translator.export`.

    Args:
        format: The format. Its module is imported in `export/__init__.py`.

    Raises:
        ValueError: If another format has the same name, or if the format
            takes an option that translators do not have.
    """
    if format.name in FORMATS:
        raise ValueError(
            "`register_format` needs a name that no other format has. "
            f"Received: name={format.name!r}. Taken are {tuple(FORMATS)}."
        )
    for name in format.options:
        check_choice("options", name, OPTIONS)
    FORMATS[format.name] = format


def find_format(path: str | Path, name: str | None) -> ExportFormat:
    """Return a format by name, or by the extension of a path.

    Args:
        path: The path to export to.
        name: The name of the format; `None` selects it by the extension.

    Returns:
        The format.

    Raises:
        ValueError: If no format has this name, or the path has another
            extension.
        ImportError: If the format requires TensorFlow, which is not
            installed.
    """
    if name not in FORMATS:
        require("tensorflow", "tensorflow", f"`export` with format={name!r}")
    suffixes = {name: known.suffix for name, known in FORMATS.items()}
    name = choose_format(path, name, suffixes)
    return FORMATS[name]


def check_outputs(outputs: Collection[str]) -> tuple[str, ...]:
    """Check the requested outputs, and return them in a fixed order.

    Args:
        outputs: All of `OUTPUTS`, and some of `MORE_OUTPUTS`.

    Raises:
        ValueError: If a name is unknown, or one of `OUTPUTS` is missing.
    """
    given = [outputs] if isinstance(outputs, str) else list(outputs)
    known = (*OUTPUTS, *MORE_OUTPUTS)
    for name in given:
        check_choice("outputs", name, known)
    if not {*OUTPUTS} <= {*given}:
        raise ValueError(
            f"`outputs` must contain all of {OUTPUTS}. Received: "
            f"outputs={outputs!r}. You can add some of {MORE_OUTPUTS}."
        )
    return tuple(name for name in known if name in given)


def with_tokens(outputs: Iterable[str]) -> tuple[str, ...]:
    """Return all outputs of a file of text, in order.

    Args:
        outputs: The requested outputs. Token scores add the target tokens,
            and attention adds source and target tokens.
    """
    given = {*outputs}
    if "attention" in given:
        given |= {"source_tokens", "target_tokens"}
    if "token_scores" in given:
        given.add("target_tokens")
    return tuple(name for name in TEXT_OUTPUTS if name in given)


def choose_format(
    path: str | Path, name: str | None, suffixes: Mapping[str, str]
) -> str:
    """Return the name of a format, and check that the path agrees with it.

    Args:
        path: The path to export to.
        name: The requested format, or `None`.
        suffixes: The file extension of each format; `""` if a format accepts
            any other path.

    Returns:
        `name`, or by default the first format with the extension of the path.

    Raises:
        ValueError: If no format has this name, or if the path has the
            extension of another format or one that no format writes.
    """
    ending = Path(path).suffix.lower()
    if name is None and ending in FOREIGN:
        raise ValueError(
            "`path` must have the extension of a format, or be a folder for a "
            f"SavedModel. Received: path={str(path)!r}. Use one of "
            f"{sorted({*suffixes.values()} - {''})}, or pass a `format`."
        )
    if ending not in suffixes.values():
        ending = ""
    fitting = [known for known, suffix in suffixes.items() if suffix == ending]
    if name is None:
        return fitting[0]
    check_choice("format", name, suffixes)
    if ending and suffixes[name] != ending:
        raise ValueError(
            f"`path` must not have the extension of another format. Received: "
            f"path={str(path)!r}, format={name!r}, where {ending} belongs to "
            f"{tuple(fitting)}. Leave `format` out, or use another path."
        )
    return name
