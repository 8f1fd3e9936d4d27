"""Pixels of a PNG of 8 bits per channel, and how often each colour is in it. Python's own modules only."""
import collections
import struct
import zlib


def read(path):
    """Counter of (r, g, b)."""
    return collections.Counter(pixel for row in rows(path) for pixel in row)


def rows(path):
    """Its rows from the top, each a list of (r, g, b)."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack_from(">IIBB", body)
            assert depth == 8 and colour in (2, 6)
        elif kind == b"IDAT":
            packed += body
        at += 12 + size
    step = 4 if colour == 6 else 3
    return unfiltered(zlib.decompress(packed), width * step, height, step)


def predict(kind, left, up, corner):
    """What a filter of that kind adds to a byte."""
    if kind == 4:  # Paeth: whichever of the three is nearest to left + up - corner
        wish = left + up - corner
        return min((abs(wish - left), 0, left), (abs(wish - up), 1, up), (abs(wish - corner), 2, corner))[2]
    return (0, left, up, (left + up) // 2)[kind]


def unfiltered(raw, row_bytes, height, step):
    before = bytearray(row_bytes)
    for y in range(height):
        start = y * (row_bytes + 1)
        kind, row = raw[start], bytearray(raw[start + 1:start + 1 + row_bytes])
        for i in range(row_bytes if kind else 0):
            left, corner = (row[i - step], before[i - step]) if i >= step else (0, 0)
            row[i] = (row[i] + predict(kind, left, before[i], corner)) & 255
        yield list(zip(row[0::step], row[1::step], row[2::step]))
        before = row
