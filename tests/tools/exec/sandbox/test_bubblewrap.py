from __future__ import annotations

import subprocess
from pathlib import Path

from shipmate.tools.exec.sandbox.bubblewrap import ENTRY_LIMIT, SettingsCopy
from shipmate.tools.exec.sandbox.room import make_room, remove_folder
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.workspace.layout import Layout
from tests.support.tree import read_tree


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


def test_small_folders_are_copied_and_followed(tmp_path: Path) -> None:
    machine = tmp_path / "etc"
    certs, big = machine / "ssl/certs", machine / "fonts"
    (certs / "deep").mkdir(parents=True)
    big.mkdir()
    (certs / "one.pem").write_text("one")
    (certs / "link").symlink_to("/usr/share/one.pem")
    (certs / "deep/two.pem").write_text("two")
    for number in range(ENTRY_LIMIT + 1):
        (big / str(number)).symlink_to("elsewhere")
    copy = SettingsCopy(tmp_path)
    folder = copy.refresh([certs, big], machine)
    assert copy.apart == {big}
    assert not list((folder / "fonts").iterdir()), "there is only a place to mount it on"
    assert (folder / "ssl/certs/link").readlink() == Path("/usr/share/one.pem")
    (certs / "deep/two.pem").write_text("changed where it lies")
    (certs / "one.pem").unlink()
    (certs / "deep/three.pem").symlink_to("two.pem")
    copy.refresh([certs, big], machine)
    assert read_tree(folder / "ssl") == read_tree(machine / "ssl")
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
