"""The code of a page, as tests run it."""

import re


def snippets(text: str):
    """All Python blocks, each with as many lines before it as in the file."""
    for found in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S):
        yield "\n" * text[: found.start(1)].count("\n") + found[1]


def run(path, scope: dict, done=None):
    """Run all blocks of a page in their order, and tell what each has done.

    Args:
        path: The page.
        scope: The names that the blocks share.
        done: Called with the scope after every block.
    """
    for code in snippets(path.read_text(encoding="utf-8")):
        exec(compile(code, path, "exec"), scope)
        if done is not None:
            done(scope)
