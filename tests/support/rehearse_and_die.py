"""Rehearse a script in a process of its own, to be killed meanwhile: python -m … ROOT SCRIPT TOOLS."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from shipmate.priming.script.parse import read_script
from shipmate.rehearsal.perform import perform
from shipmate.rehearsal.rehearsal_setting import Setting
from shipmate.workspace.layout import Layout


async def main(root: str, script: str, tools: str) -> None:
    mode = {"script": "script", "sandbox": "sandbox", "live": "live"}[tools]
    # What a script calls itself acts nowhere real; the offline model does as it is told.
    model = "rehearsal" if mode == "live" else "script"
    setting = Setting(model=model, tools=mode)  # pyright: ignore[reportArgumentType]
    while True:
        await perform(Layout(Path(root)), read_script(Path(script)), setting)
        print("again", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
