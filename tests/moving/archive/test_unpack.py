"""A bad or cut archive restores nothing, and none leads out of its folder."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import msgspec
import pytest

from shipmate.moving.archive.pack import MANIFEST, Manifest, PackedFile, pack
from shipmate.moving.archive.unpack import unpack, verify
from shipmate.moving.move_wording import MoveError
from tests.support.moving import make_target


def write(path: Path, *entries: tuple[str, bytes], kind: bytes = tarfile.REGTYPE, link: str = "") -> Path:
    """Write an archive by hand; the last entry is of another kind when one is given."""
    with tarfile.open(path, "w:gz") as tar:
        for number, (name, data) in enumerate(entries):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            if number == len(entries) - 1 and kind != tarfile.REGTYPE:
                entry.type, entry.linkname, entry.size = kind, link, 0
            tar.addfile(entry, io.BytesIO(data))
    return path


def manifest(*files: PackedFile, number: int = 1) -> tuple[str, bytes]:
    return MANIFEST, msgspec.json.encode(Manifest(format=number, shipmate="9.9", files=files))


def refused(archive: Path, words: str) -> None:
    target = archive.parent / "target"
    with pytest.raises(MoveError, match=words):
        unpack(archive, target)
    assert not target.exists()
    assert not [path for path in archive.parent.iterdir() if "restoring" in path.name]


@pytest.mark.parametrize(
    "name", ["../out.md", "/etc/out.md", "a/../../out.md", "a//b", "./a", "a\\b", "C:/a", "a\nb", ".."]
)
def test_no_path_leads_out(tmp_path: Path, name: str) -> None:
    refused(write(tmp_path / "a.tar.gz", (name, b"x"), manifest()), "which no archive of ours holds|cut off")
    assert not (tmp_path / "out.md").exists()


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE]
)
def test_nothing_but_plain_files_is_taken(tmp_path: Path, kind: bytes) -> None:
    archive = write(tmp_path / "a.tar.gz", ("Agent.md", b"x"), ("b", b""), kind=kind, link="/etc/passwd")
    refused(archive, "which no archive of ours holds")


def test_a_cut_changed_or_foreign_archive_restores_nothing(tmp_path: Path) -> None:
    layout = make_target(tmp_path / "ours")
    (layout.root / "SOUL.md").write_bytes(bytes(range(256)) * 400)
    whole = tmp_path / "whole.tar.gz"
    pack(layout, whole)
    data = whole.read_bytes()
    bad = tmp_path / "bad.tar.gz"
    for cut in range(0, len(data), max(1, len(data) // 40)):
        bad.write_bytes(data[:cut])
        refused(bad, "cut off, damaged or no archive")
    plain = gzip.decompress(data)
    for at in range(600, len(plain), 9_001):
        changed = plain[:at] + bytes([plain[at] ^ 1]) + plain[at + 1 :]
        bad.write_bytes(gzip.compress(changed))
        try:
            assert verify(bad) == verify(whole)
        except MoveError:
            refused(bad, "Nothing was restored")
    empty = PackedFile("Agent.md", 1, "0" * 64)
    refused(write(bad, ("Agent.md", b"x"), manifest()), "does not hold what its list says")
    refused(write(bad, ("Agent.md", b"x"), manifest(empty)), "does not hold what its list says")
    refused(write(bad, ("Agent.md", b"x"), ("agent.md", b"x"), manifest()), "which no archive")
    refused(write(bad, manifest(), ("Agent.md", b"x")), "which no archive")
    refused(write(bad, manifest(number=2)), "newer form")
    refused(tmp_path / "none.tar.gz", "no file that can be read")


def test_only_an_empty_folder_is_filled(tmp_path: Path) -> None:
    layout = make_target(tmp_path / "ours")
    archive = tmp_path / "a.tar.gz"
    pack(layout, archive)
    with pytest.raises(MoveError, match="is not empty"):
        unpack(archive, layout.root)
    (tmp_path / "empty").mkdir()
    # What a restore that was killed left beside it does no harm.
    (tmp_path / ".empty.restoring").mkdir()
    (tmp_path / ".empty.restoring" / "Agent.md").write_text("half")
    unpack(archive, tmp_path / "empty")
    assert (tmp_path / "empty/Agent.md").read_text() == layout.agent.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar.gz", "empty", "ours"]
