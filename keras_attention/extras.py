"""Import optional packages on demand, with helpful errors."""

import importlib
from types import ModuleType


def require(module: str, extra: str, needed_by: str) -> ModuleType:
    """Import a package that only one extra installs.

    Args:
        module: The module to import, such as `"matplotlib.pyplot"`.
        extra: The extra of this package that installs it.
        needed_by: The function or class that needs it, as the user typed it.

    Returns:
        The module.

    Raises:
        ImportError: If it is not installed, or needs a newer `protobuf`. The
            message names the package to install.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or module).partition(".")[0]
        raise ImportError(
            f"{needed_by} needs `{missing}`, which is not installed. "
            f'Install it with: pip install "keras-rnn-attention[{extra}]"'
        ) from error
    except Exception as error:
        if type(error).__name__ != "VersionError":
            raise
        raise ImportError(
            f"{needed_by} needs a newer `protobuf`, for this `{module}`: "
            f"{error} Install it with: pip install --upgrade protobuf"
        ) from error
