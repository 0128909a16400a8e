"""Damaged copies of files, the same ones for a seed."""

import functools
import io
import json
import random
import re
import zipfile

HUGE = 3 << 30  # what an archive may claim to unpack to
SIZES = {  # where headers of a ZIP archive have sizes, offsets, checksums
    b"PK\1\2": [(16, 4), (20, 4), (24, 4), (28, 2), (42, 4)],
    b"PK\3\4": [(14, 4), (18, 4), (22, 4), (26, 2)],
    b"PK\5\6": [(8, 2), (10, 2), (12, 4), (16, 4), (20, 2)],
}
VALUES = [None, True, -1, 0, 2**70, 1e308, "", "x", [], {}, ["x", "x"]]


def damage(
    content: bytes, other: bytes, draw: random.Random
) -> tuple[str, bytes]:
    """Draw a damage.

    Args:
        content: Content of a file.
        other: Content of a file of this kind from another folder.
        draw: Where random numbers come from.

    Returns:
        The name of the damage, and the damaged content.
    """
    kinds = {
        "bit": lambda: flip(content, 1, draw),
        "bits": lambda: flip(content, draw.randrange(2, 100), draw),
        "cut": lambda: content[: draw.randrange(len(content))],
        "end": lambda: content[: -draw.randrange(1, min(101, len(content)))],
        "begin": lambda: content[draw.randrange(1, len(content)) :],
        "zeros": lambda: overwrite(content, bytes, draw),
        "noise": lambda: overwrite(content, draw.randbytes, draw),
        "more": lambda: insert(content, draw.randbytes(9), draw),
        "moved": lambda: exchange(content, draw),
        "other": lambda: other,
        "joined": lambda: join(content, other, draw),
    }
    if b"PK\5\6" in content[-4096:]:
        kinds["lie"] = lambda: lie(content, draw)
        kinds["bomb"] = lambda: bomb(content, draw)
    if content.startswith(b"{"):
        kinds["value"] = lambda: change_value(content, draw)
        kinds["deep"] = lambda: insert(content, b"[" * 10**5, draw)
    name = draw.choice([*kinds])
    return name, kinds[name]()


def flip(content, count, draw):
    content = bytearray(content)
    for _ in range(count):
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return bytes(content)


def stretch(content, draw):
    begin = draw.randrange(len(content))
    return begin, min(len(content), begin + draw.choice([1, 8, 64, 4096]))


def overwrite(content, make, draw):
    begin, end = stretch(content, draw)
    return content[:begin] + make(end - begin) + content[end:]


def insert(content, new, draw):
    at = draw.randrange(len(content) + 1)
    return content[:at] + new + content[at:]


def exchange(content, draw):
    (a, b), (c, d) = sorted(stretch(content, draw) for _ in range(2))
    c, d = max(b, c), max(b, d)
    return (
        content[:a] + content[c:d] + content[b:c] + content[a:b] + (content[d:])
    )


def join(content, other, draw):
    at = draw.randrange(min(len(content), len(other)))
    return content[:at] + other[at:]


def lie(content, draw):
    """Let an archive claim another size, place or checksum of something."""
    kind = draw.choice([*SIZES])
    starts = [found.start() for found in re.finditer(re.escape(kind), content)]
    at, size = draw.choice(SIZES[kind])
    at += draw.choice(starts)
    most = 256**size
    value = draw.choice([0, 1, most // 2, most - 2, draw.randrange(most)])
    return content[:at] + value.to_bytes(size, "little") + content[at + size :]


@functools.lru_cache
def archive_with(members, large):
    """Make an archive of members, one of them of 3 GiB of zeros."""
    written = io.BytesIO()
    options = {"compression": zipfile.ZIP_DEFLATED, "compresslevel": 1}
    with zipfile.ZipFile(written, "w", **options) as archive:
        for name, value in members:
            with archive.open(name, "w", force_zip64=name == large) as member:
                for _ in range(HUGE >> 20 if name == large else 0):
                    member.write(bytes(2**20))
                member.write(b"" if name == large else value)
    return written.getvalue()


def bomb(content, draw):
    """Let one member of an archive unpack to 3 GiB."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    return archive_with((*members,), draw.choice(members)[0])


def change_value(content, draw):
    """Replace a value anywhere in JSON, or leave it out."""
    whole = json.loads(content)
    inside = whole
    while True:
        keys = [*inside] if isinstance(inside, dict) else range(len(inside))
        key = draw.choice(keys)
        deeper = inside[key]
        if not isinstance(deeper, dict | list) or not deeper:
            break
        if draw.random() < 0.3:
            break
        inside = deeper
    if draw.random() < 0.2:
        del inside[key]
    else:
        inside[key] = draw.choice(VALUES)
    return json.dumps(whole).encode()
