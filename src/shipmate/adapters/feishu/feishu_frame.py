"""Read and write the frames of Feishu's long connection: protobuf of one shape."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

# The kinds of fields on the wire.
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
CONTROL, DATA = 0, 1
# The numbers of the fields.
SEQ, LOG, SERVICE, METHOD, HEADER, ENCODING, TYPE, PAYLOAD, NEW_LOG = range(1, 10)
KEY, VALUE = 1, 2
VARINT_LIMIT = 10
MASK_64 = (1 << 64) - 1


class Frame(msgspec.Struct, kw_only=True):
    """One frame: what it is stands in its headers."""

    seq: int = 0
    log: int = 0
    service: int = 0
    method: int = CONTROL
    headers: list[tuple[str, str]] = []
    encoding: str = ""
    type: str = ""
    payload: bytes = b""
    new_log: str = ""

    def find(self, key: str) -> str:
        """Return a header, or nothing."""
        return next((value for name, value in self.headers if name == key), "")


def write_frame(frame: Frame) -> bytes:
    """Return a frame as it is sent."""
    out = bytearray()
    numbers = ((SEQ, frame.seq), (LOG, frame.log), (SERVICE, frame.service), (METHOD, frame.method))
    for field, number in numbers:
        out += _varint(field << 3 | VARINT) + _varint(number)
    for key, value in frame.headers:
        out += _chunk(HEADER, _chunk(KEY, key.encode()) + _chunk(VALUE, value.encode()))
    texts = (
        (ENCODING, frame.encoding.encode()),
        (TYPE, frame.type.encode()),
        (PAYLOAD, frame.payload),
        (NEW_LOG, frame.new_log.encode()),
    )
    for field, text in texts:
        if text:
            out += _chunk(field, text)
    return bytes(out)


def read_frame(data: bytes) -> Frame:
    """Read a frame; raise ValueError for what is none."""
    frame = Frame()
    for field, value in _fields(data):
        match field, value:
            case (1, int()):
                frame.seq = value
            case (2, int()):
                frame.log = value
            case (3, int()):
                frame.service = value
            case (4, int()):
                frame.method = value
            case (5, bytes()):
                pair = {name: text for name, text in _fields(value) if isinstance(text, bytes)}
                frame.headers.append((pair.get(KEY, b"").decode(), pair.get(VALUE, b"").decode()))
            case (6, bytes()):
                frame.encoding = value.decode()
            case (7, bytes()):
                frame.type = value.decode()
            case (8, bytes()):
                frame.payload = value
            case (9, bytes()):
                frame.new_log = value.decode()
            case _:
                # A field that is newer than this.
                pass
    return frame


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    place = 0
    while place < len(data):
        key, place = _read_varint(data, place)
        kind = key & 7
        if kind == VARINT:
            value, place = _read_varint(data, place)
            yield key >> 3, value
            continue
        if kind == BYTES:
            size, place = _read_varint(data, place)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise ValueError("a kind of field that is not in use")
        if place + size > len(data):
            raise ValueError("a field is cut off")
        yield key >> 3, data[place : place + size]
        place += size


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    number = 0
    for step in range(VARINT_LIMIT):
        if place >= len(data):
            break
        byte = data[place]
        place += 1
        number |= (byte & 0x7F) << (7 * step)
        if byte < 0x80:
            return number & MASK_64, place
    raise ValueError("a number is cut off or too long")


def _varint(number: int) -> bytes:
    number &= MASK_64
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _chunk(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | BYTES) + _varint(len(data)) + data
