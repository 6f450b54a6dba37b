"""The parts of an office document, an archive of XML files, each read as it is unpacked."""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Protocol
from xml.parsers import expat

from shipmate.errors import DecodingError

# What all parts that are read may hold together, unpacked.
UNPACKED_LIMIT = 200_000_000
PIECE = 65_536
Attributes = dict[str, str]


class Handler(Protocol):
    """Takes what a part holds; names come without their prefixes."""

    def start(self, name: str, attributes: Attributes) -> None: ...
    def end(self, name: str) -> None: ...
    def text(self, text: str) -> None: ...


class PartLink:
    """A part that another names."""

    def __init__(self, kind: str, target: str) -> None:
        self.kind = kind
        self.target = target


class Archive:
    """An office document; errors name it."""

    def __init__(self, data: bytes, name: str) -> None:
        self.name = name
        self._room = UNPACKED_LIMIT
        try:
            self._zip = zipfile.ZipFile(BytesIO(data))
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
            raise self.damaged() from error

    def damaged(self) -> DecodingError:
        """Return the error for what cannot be understood."""
        return DecodingError(
            f"{self.name} is damaged or no such document. Open it in its program and save it."
        )

    def find_main(self) -> str:
        """Return the part that everything else hangs on."""
        for relation in self.relations("").values():
            if relation.kind == "officeDocument":
                return relation.target
        raise self.damaged()

    def relations(self, part: str) -> dict[str, PartLink]:
        """Return the parts another names, by their ids; addresses outside are none."""
        folder, _, name = part.rpartition("/")
        place = posixpath.join(folder, "_rels", f"{name}.rels")
        found = _Relations(folder)
        if self.has(place):
            self.parse(place, found)
        return found.by_id

    def has(self, part: str) -> bool:
        """Return whether there is such a part."""
        return part in self._zip.NameToInfo

    def parse(self, part: str, handler: Handler) -> None:
        """Read a whole part."""
        for _ in self.walk(part, handler):
            pass

    def walk(self, part: str, handler: Handler) -> Iterator[None]:
        """Read a part; between two steps a piece of it was given to the handler."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        # No office program writes a document type; what has one wants to define entities.
        parser.StartDoctypeDeclHandler = self._refuse
        parser.StartElementHandler = lambda name, found: handler.start(name.rpartition(":")[2], _plain(found))
        parser.EndElementHandler = lambda name: handler.end(name.rpartition(":")[2])
        parser.CharacterDataHandler = handler.text
        try:
            for piece in self._pieces(part):
                parser.Parse(piece, False)
                yield
            parser.Parse(b"", True)
            yield
        except (
            expat.ExpatError,
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            NotImplementedError,
            LookupError,
        ) as error:
            raise self.damaged() from error

    def _pieces(self, part: str) -> Iterator[bytes]:
        info = self._zip.getinfo(part)
        if info.flag_bits & 1:
            raise DecodingError(f"{self.name} is encrypted. Save it without a password.")
        # The reader never gives more than this says.
        self._room -= info.file_size
        if self._room < 0:
            raise DecodingError(
                f"{self.name} holds more than {UNPACKED_LIMIT // 1_000_000} MB when it is unpacked. Split it."
            )
        with self._zip.open(info) as file:
            while piece := file.read(PIECE):
                yield piece

    def _refuse(self, *_: object) -> None:
        raise DecodingError(f"{self.name} defines entities, which no office document does. It was not read.")


def _plain(found: Attributes) -> Attributes:
    """Return attributes without their prefixes; of two with one name, the one with a prefix is meant."""
    return {key.rpartition(":")[2]: found[key] for key in sorted(found, key=lambda key: ":" in key)}


class _Relations:
    def __init__(self, folder: str) -> None:
        self.by_id: dict[str, PartLink] = {}
        self._folder = folder

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "Relationship" and attributes.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", self._folder, attributes.get("Target", "")))
            kind = attributes.get("Type", "").rpartition("/")[2]
            self.by_id[attributes.get("Id", "")] = PartLink(kind, target.lstrip("/"))

    def end(self, name: str) -> None: ...
    def text(self, text: str) -> None: ...
