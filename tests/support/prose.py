"""What users read: pages without code, docstrings, and messages.

    python tests/support/prose.py keras_attention/search docs/quality.md

prints what `proselint` and the glossary find in these files and folders.
"""

import ast
import re
import sys
from pathlib import Path

from proselint.config import DEFAULT
from proselint.registry import CheckRegistry
from proselint.registry.checks import Check
from proselint.registry.checks import types
from proselint.tools import LintFile

FENCE = re.compile(r"^( *)```.*?^\1```$", re.M | re.S)
CODE = re.compile(r"`+[^`]*`+|\$[^$\n]+\$|<[^>\n]*>|\]\([^)]*\)")
EXAMPLE = re.compile(r"^ *(?:>>>|\.\.\.) .*$|^    +.*$", re.M)
# Words that are not used, and what is written in their place: the usual term
# of the field, or the usual English.
GLOSSARY = {
    "(?:stays?|left|kept|is|answer) as (?:it|they) (?:is|are)": "unchanged",
    "beams of a search": "beam width",
    "computed again": "recomputed (gradient checkpointing)",
    "go(?:es)? before": "override",
    "go(?:es)? on": "continue, resume",
    "in front of": "before",
    "in the absence of": "without, by default",
    "in (?:its|their) turn": "then",
    "letters to sounds": "grapheme-to-phoneme (G2P)",
    "real positions?": "valid positions",
    "rooms": "folders, subpackages",
    "told": "reported, passed",
    "train(?:ed|s|ing)? on from": "fine-tune",
    "unless given": "by default",
    "wants": "requires",
    "wrong letters": "character error rate (CER)",
    "wrong words": "word error rate (WER)",
}
CHECKS = {
    **DEFAULT["checks"],
    "typography.symbols": False,  # straight quotes, as in code
    "lexical_illusions": False,  # arguments: "de_en de_en"
}


def _register():
    for pattern, better in GLOSSARY.items():
        CheckRegistry().register(
            Check(
                check_type=types.ExistenceSimple(pattern=rf"\b{pattern}\b"),
                path="spelling.glossary",
                message=f"Write: {better}.",
            )
        )


_register()


def page(text: str) -> str:
    """Leave out the code of a Markdown page, and keep its lines."""
    text = FENCE.sub(lambda x: "\n" * x[0].count("\n"), text)
    return CODE.sub("X", text)


def strings(text: str):
    """Yield the line and text of each docstring and message of a file."""
    tree, seen = ast.parse(text), set()
    documented = ast.Module | ast.ClassDef | ast.FunctionDef
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node):
            doc = node.body[0].value
            seen.add(doc)
            yield doc.lineno, EXAMPLE.sub("", CODE.sub("X", doc.value))
        if isinstance(node, ast.JoinedStr):
            values = [getattr(x, "value", None) for x in node.values]
            seen.update(node.values)
            parts = [x if isinstance(x, str) else "X" for x in values]
            yield node.lineno, CODE.sub("X", "".join(parts))
        if isinstance(node, ast.Constant) and node not in seen:
            if isinstance(node.value, str) and node.value.count(" ") > 2:
                yield node.lineno, CODE.sub("X", node.value)


def findings(path: Path) -> list[str]:
    """List what is found in a file."""
    text = path.read_text("utf-8")
    parts = [(1, page(text))] if path.suffix == ".md" else strings(text)
    found = []
    for line, part in parts:
        for each in LintFile("", content=part).lint(
            {**DEFAULT, "checks": CHECKS}
        ):
            words = part[
                each.check_result.span[0] - 1 : each.check_result.span[1] - 1
            ]
            at = line + each.pos[0] - 1
            found.append(f"{path}:{at}: {words!r}. {each.check_result.message}")
    return found


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        inside = [path] if path.is_file() else sorted(path.rglob("*"))
        for file in inside:
            if file.suffix in (".md", ".py"):
                for found in findings(file):
                    print(found)
