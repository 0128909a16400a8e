"""Damaged copies of files, the same ones for a seed."""

import io
import json
import random
import re
import struct
import zipfile
import zlib

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


def bomb(content, draw):
    """Make an archive with members of these names, one of them of 3 GiB."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    large, written = draw.choice([*members]), io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            archive.writestr(name, bytes(0x5EED) if name == large else value)
        info = archive.getinfo(large)
    made = written.getvalue()
    begin = info.header_offset + 30 + len(large.encode())
    stream = zeros_by_deflate(HUGE)
    made = made[:begin] + stream + made[begin + info.compress_size :]
    return with_sizes(made, large, len(stream), info.compress_size)


def zeros_by_deflate(count):
    """Compress zeros by compressing 1 MiB of them, and repeating it."""
    maker = zlib.compressobj(9, zlib.DEFLATED, -15)
    maker.compress(b"")
    block = maker.compress(bytes(2**20)) + maker.flush(zlib.Z_FULL_FLUSH)
    return block * (count >> 20) + maker.flush()


def with_sizes(made, name, size, before):
    """Correct the headers of an archive whose member has become longer."""
    made, grown = bytearray(made), size - before
    local = made.index(b"PK\3\4")
    while made[local + 30 : local + 30 + len(name)] != name.encode():
        local = made.index(b"PK\3\4", local + 4)
    struct.pack_into("<LL", made, local + 18, size, HUGE)
    at = made.index(b"PK\1\2", local + 30 + size)
    while made[at : at + 4] == b"PK\1\2":
        offset = struct.unpack_from("<L", made, at + 42)[0]
        if offset == local:
            struct.pack_into("<LL", made, at + 20, size, HUGE)
        elif offset > local:
            struct.pack_into("<L", made, at + 42, offset + grown)
        at += 46 + sum(struct.unpack_from("<HHH", made, at + 28))
    end = struct.unpack_from("<L", made, at + 16)[0]
    struct.pack_into("<L", made, at + 16, end + grown)
    return bytes(made)


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
