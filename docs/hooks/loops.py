"""The forward and the backward loop of a decoder, as a picture.

A page has the line `{{ loops }}` where the picture belongs.
"""

STEPS = ("1", "2", "T")
LEFT, WIDTH, BETWEEN, HEIGHT = 110, 130, 60, 40
ROWS = {"run": 20, "keep": 110, "replay": 200, "stack": 290, "late": 370}
SAID = (
    "Forward, each step runs and keeps its carry and its products. Backward, "
    "from the last step to the first, each is replayed from what was kept. "
    "After the loop one product gives the gradient of each weight."
)


def on_page_markdown(markdown, **_):
    """Draw both loops where a page asks for it."""
    return markdown.replace("{{ loops }}", draw())


def draw() -> str:
    """Draw the loops as SVG, in the colors of the page."""
    parts = [*_labels(), *_columns(), *_between()]
    right = LEFT + 2 * (WIDTH + BETWEEN) + WIDTH
    y = ROWS["late"]
    parts.append(_box(LEFT, y, right - LEFT, "one product for each weight"))
    arrow = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" '
        'markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="currentColor"/></marker></defs>'
    )
    return (
        f'<div class="loops"><svg viewBox="0 0 {right + 70} {y + 60}" '
        f'role="img" aria-label="{SAID}">{arrow}{"".join(parts)}</svg></div>'
    )


def _labels():
    said = {
        "run": "forward",
        "keep": "kept",
        "replay": "backward",
        "stack": "stacked",
        "late": "afterwards",
    }
    for row, text in said.items():
        yield _text(0, ROWS[row] + 25, text, "start")


def _columns():
    texts = {
        "run": "run step {0}",
        "keep": f"{_indexed('h')}, {_indexed('y')}",
        "replay": "replay step {0}",
        "stack": f"{_indexed('u')}, {_indexed('ȳ')}",
    }
    for n, step in enumerate(STEPS):
        x = LEFT + n * (WIDTH + BETWEEN)
        for row, text in texts.items():
            yield _box(x, ROWS[row], WIDTH, text.format(step))
            yield _arrow(x + WIDTH / 2, ROWS[row] + HEIGHT, x + WIDTH / 2)


def _indexed(letter):
    """Write a letter with a step below, which `format` fills in."""
    return (
        f'{letter}<tspan dy="4" font-size="11">{{0}}</tspan>'
        '<tspan dy="-4">\N{ZERO WIDTH SPACE}</tspan>'
    )


def _between():
    """Draw the carry of both loops, from step to step."""
    for n in range(len(STEPS)):
        begin = LEFT + n * (WIDTH + BETWEEN) + WIDTH
        end = begin + BETWEEN
        gap = "stroke-dasharray='4 4'" if n == 1 else ""
        y = ROWS["run"] + HEIGHT / 2
        yield _line(begin, y, end, y, gap)
        y = ROWS["replay"] + HEIGHT / 2
        yield _line(end, y, begin, y, gap)


def _arrow(x, y, to):
    gap = 50 if y < 280 else 40
    return _line(x, y, to, y + gap)


def _line(x, y, to_x, to_y, more=""):
    return (
        f'<path d="M{x} {y}L{to_x} {to_y}" stroke="currentColor" {more} '
        'marker-end="url(#tip)"/>'
    )


def _box(x, y, width, text):
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{HEIGHT}" rx="4" '
        'fill="none" stroke="currentColor"/>'
        + _text(x + width / 2, y + 25, text, "middle")
    )


def _text(x, y, text, anchor):
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" '
        f'fill="currentColor">{text}</text>'
    )
