"""The formats that a translator is exported in, and what each of them takes."""

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
        name: What the user types for it, such as `"onnx"`.
        write: Function `write(path, model, source_tokenizer,
            target_tokenizer, search)`, which writes a file or a folder whole
            or not at all. What follows comes by keyword.
        options: Those of `"max_source_length"` and `"replace_unknown"` that
            `write` takes, in the translator's values. Defaults to `()`.
        takes_quantize: Whether `write` takes `quantize`, where the user gives
            it. Defaults to `False`.
        suffix: How its files end, such as `".onnx"`. A path that ends so is
            of the first format of this suffix, unless one is named. Defaults
            to `""`: folders, and files of any other ending.
        takes_outputs: Whether `write` takes `outputs`, where the user asks for
            more than `OUTPUTS`: these and some of `MORE_OUTPUTS`, in this
            order. Defaults to `False`.
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
        """Return what `write` takes by keyword.

        Args:
            translator: A `Translator`, which has the values of `OPTIONS`.
            quantize: What the user wants of it, or `None`. Its values are for
                `write` to check.
            outputs: Those of `OUTPUTS`, and some of `MORE_OUTPUTS`.

        Raises:
            ValueError: If the format does not take one of them, or there are
                no such outputs.
        """
        outputs = check_outputs(outputs)
        given = {"quantize": quantize} if quantize is not None else {}
        given |= {"outputs": outputs} if outputs != OUTPUTS else {}
        for option, value in given.items():
            field = f"takes_{option}"
            if not getattr(self, field):
                able = tuple(k for k, x in FORMATS.items() if getattr(x, field))
                raise ValueError(
                    f"`{option}` needs a format that has it, one of {able}. "
                    f"Received: format={self.name!r}, {option}={value!r}. Take "
                    f"one of these, or leave `{option}` out."
                )
        options = {name: getattr(translator, name) for name in self.options}
        return options | given


# Endings of files, where no folder is meant.
FOREIGN = {".zip", ".keras", ".h5", ".pb", ".pt", ".json", ".gz"}
FORMATS: dict[str, ExportFormat] = {}


def register_format(format: ExportFormat):
    """Make a format known to `Translator.export`.

    Args:
        format: The format. Its module is imported in `export/__init__.py`.

    Raises:
        ValueError: If another format has its name, or if it takes an option
            that translators do not have.
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
    """Look up a format.

    Args:
        path: What will be written.
        name: Its name; `None` for that of the path's ending.

    Returns:
        The format.

    Raises:
        ValueError: If there is none of this name, or the path ends otherwise.
        ImportError: If TensorFlow is not installed, which writes it.
    """
    if name not in FORMATS:
        require("tensorflow", "tensorflow", f"`export` with format={name!r}")
    suffixes = {name: known.suffix for name, known in FORMATS.items()}
    name = choose_format(path, name, suffixes)
    return FORMATS[name]


def check_outputs(outputs: Collection[str]) -> tuple[str, ...]:
    """Check what a file shall give, and return it in one order.

    Args:
        outputs: Those of `OUTPUTS`, and some of `MORE_OUTPUTS`.

    Raises:
        ValueError: If it has another name, or lacks one of `OUTPUTS`.
    """
    given = [outputs] if isinstance(outputs, str) else list(outputs)
    known = (*OUTPUTS, *MORE_OUTPUTS)
    for name in given:
        check_choice("outputs", name, known)
    if not {*OUTPUTS} <= {*given}:
        raise ValueError(
            f"`outputs` must have all of {OUTPUTS}. Received: "
            f"outputs={outputs!r}. Add some of {MORE_OUTPUTS} to them."
        )
    return tuple(name for name in known if name in given)


def with_tokens(outputs: Iterable[str]) -> tuple[str, ...]:
    """Name all outputs of a file of text, in their order.

    Args:
        outputs: What is asked for. Scores of tokens come with the tokens, and
            attention comes with those of the source as well.
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
    """Return the name of a format, which a path does not contradict.

    Args:
        path: What will be written.
        name: What the user asks for, or `None`.
        suffixes: How the path ends, for each name; `""` if in no other way.

    Returns:
        `name`; by default the first format whose suffix the path has.

    Raises:
        ValueError: If there is none of this name, or if the path has the
            suffix of another, or of files that no format is known to write.
    """
    ending = Path(path).suffix.lower()
    if name is None and ending in FOREIGN:
        raise ValueError(
            "`path` must end as a format's files do, or name a folder for a "
            f"SavedModel. Received: path={str(path)!r}. End it with "
            f"{sorted({*suffixes.values()} - {''})}, or name a `format`."
        )
    if ending not in suffixes.values():
        ending = ""
    fitting = [known for known, suffix in suffixes.items() if suffix == ending]
    if name is None:
        return fitting[0]
    check_choice("format", name, suffixes)
    if ending and suffixes[name] != ending:
        raise ValueError(
            f"`path` must not end as another format's does. Received: "
            f"path={str(path)!r}, format={name!r}, where {ending} is of "
            f"{tuple(fitting)}. Leave `format` out, or name another path."
        )
    return name
