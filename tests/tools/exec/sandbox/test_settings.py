from __future__ import annotations

import subprocess
from pathlib import Path

from shipmate.tools.exec.sandbox.room import make_room, remove_folder
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.exec.sandbox.settings import SettingsCopy
from shipmate.workspace.layout import Layout


def test_a_copy_follows_its_files(tmp_path: Path) -> None:
    machine = tmp_path / "etc"
    (machine / "ssl" / "certs").mkdir(parents=True)
    (tmp_path / "real").write_text("one")
    (machine / "hosts").write_text("127.0.0.1 here")
    (machine / "resolv.conf").symlink_to(tmp_path / "real")
    places = [machine / name for name in ("hosts", "resolv.conf", "ssl/certs", "gone")]
    copy = SettingsCopy(tmp_path)
    folder = copy.refresh(places, machine)
    assert (folder / "hosts").read_text() == "127.0.0.1 here"
    assert not (folder / "resolv.conf").is_symlink()
    assert (folder / "ssl/certs").is_dir()
    assert not (folder / "gone").exists()
    assert folder.stat().st_mode & 0o777 == 0o700
    (tmp_path / "real").write_text("two, longer")
    copy.refresh(places, machine)
    assert (folder / "resolv.conf").read_text() == "two, longer"
    (machine / "hosts").unlink()
    copy.refresh(places, machine)
    assert not (folder / "hosts").exists()
    remove_folder(folder)


def test_commands_see_the_machine_s_settings_and_no_more(root: Path, tmp_path: Path) -> None:
    sandbox = Sandbox(Layout(root))
    if sandbox.level != "bubblewrap":
        return
    room = make_room(tmp_path)
    words = ["sh", "-c", "cat /etc/passwd; ls -A /etc; touch /etc/new 2>&1 || echo closed"]
    printed = subprocess.run(sandbox.wrap(words, room), capture_output=True, text=True, check=True).stdout
    sandbox.close_room(room)
    assert printed.startswith(Path("/etc/passwd").read_text())
    assert printed.endswith("closed\n")
    assert "shadow" not in printed.removeprefix(Path("/etc/passwd").read_text()).split()
