"""Texts that a server must survive: no Unicode, controls, endless rows."""

import random

MARKS = "\u0300\u0301\u0308\u0327\u0345\u05b0\u064b\u0e31\u20dd\ufe0f"
EMOJI = "😀👍🏽👩‍👩‍👧🏳️‍🌈🇰🇷❤️\u200d\ufe0f\U000e0067"
BIDI = "שלום مرحبا ١٢٣ \u200e\u200f\u202a\u202e\u2066\u2069\u061c"
FORMS = "ﬁﷺ㍻½①Ⅷ２０㎢ǅẞßİıſΣςꙀ\u1e9b\u0323가\u1100\u1161"
SPACES = " \t\n\r\v\f\u00a0\u0085\u2003\u2028\u3000\ufeff"
CONTROLS = [*range(32), 127]
NO_UTF8 = [
    b"\xed\xa0\x80",  # half of a surrogate pair
    b"\xed\xb0\x80",
    b"\xc0\x80",  # NUL, too long
    b"\xf4\x90\x80\x80",  # beyond Unicode
    b"\xe2\x82",  # cut short
    b"\x80",
    b"\xff",
]


def hostile_texts(count: int, valid: list[str], seed: int) -> list[bytes]:
    """Draw texts of every kind in turn.

    Args:
        count: How many.
        valid: Ordinary texts, to be changed.
        seed: Seed of the draw.
    """
    draw = random.Random(seed)
    kinds = [
        lambda: draw.randbytes(draw.randrange(60)),
        lambda: letters(draw, anywhere(draw, 0, 0xD800)),
        lambda: letters(draw, anywhere(draw, 0xE000, 0x110000)),
        lambda: mutated(draw, draw.choice(valid).encode()),
        lambda: bytes(draw.choices(CONTROLS, k=draw.randrange(20))),
        lambda: letters(draw, EMOJI),
        lambda: letters(draw, BIDI),
        lambda: letters(draw, FORMS),
        lambda: letters(draw, SPACES),
        lambda: b"e" + letters(draw, MARKS) * draw.randrange(4),
        lambda: b"".join(draw.choices([*NO_UTF8, b"1", b"a"], k=9)),
        lambda: spliced(draw, draw.choice(valid).encode()),
        lambda: repeated(draw, draw.choice(valid).encode()),
    ]
    return [kinds[i % len(kinds)]() for i in range(count)]


def anywhere(draw, first: int, beyond: int) -> list[str]:
    """Draw characters between two code points."""
    return [chr(draw.randrange(first, beyond)) for _ in range(9)]


def letters(draw, alphabet) -> bytes:
    """Draw letters of an alphabet, and some digits between them."""
    text = draw.choices([*alphabet, *alphabet, "1", "/"], k=draw.randrange(30))
    return "".join(text).encode()


def mutated(draw, text: bytes) -> bytes:
    """Change, drop or repeat bytes anywhere."""
    text = bytearray(text)
    for _ in range(draw.randrange(1, 5)):
        at = draw.randrange(len(text) + 1)
        new = draw.choice([b"", draw.randbytes(1), text[at : at + 3] * 2])
        text[at : at + draw.randrange(3)] = new
    return bytes(text)


def spliced(draw, text: bytes) -> bytes:
    """Insert bytes that are not UTF-8, or a control character."""
    at = draw.randrange(len(text) + 1)
    foreign = draw.choice([*NO_UTF8, *(bytes([c]) for c in CONTROLS)])
    return text[:at] + foreign + text[at:]


def repeated(draw, text: bytes) -> bytes:
    """Repeat a text, or one of its bytes, up to a thousand bytes."""
    text = draw.choice([text, text[:1], text[:2], text[-1:], b"\0", b" "])
    return text * draw.randrange(1 + 1000 // max(1, len(text)))
