"""The engine's installer as a child: lines become progress, failures errors, and cancelling ends it."""

from __future__ import annotations

import asyncio
import sys
import textwrap

import psutil
import pytest

from clover_gui.errors import EngineMissing
from clover_gui.pipeline.engine_install import InstallProgress, install_engine


def _script(text: str) -> list[str]:
    return [sys.executable, "-u", "-c", textwrap.dedent(text)]


async def _all(command: list[str]) -> list[InstallProgress]:
    return [progress async for progress in install_engine(command)]


def test_steps_and_progress_arrive_in_order() -> None:
    command = _script(
        """
        print('{"event": "step", "step": "compile", "text": "Building"}')
        print('not json at all')
        print('{"event": "progress", "done": 12, "total": 140, "seconds_left": 200.5}')
        print('{"event": "done", "backend": "cpu"}')
        """
    )
    assert asyncio.run(_all(command)) == [
        InstallProgress("compile", "Building"),
        InstallProgress("compile", "Building", 12, 140, 200.5),
    ]


def test_a_failure_carries_the_installers_reason() -> None:
    command = _script(
        """
        print('{"event": "failed", "reason": "no compiler", "next_step": "install g++", "log": "/x/log"}')
        """
    )
    with pytest.raises(EngineMissing) as caught:
        asyncio.run(_all(command))
    assert caught.value.reason == "no compiler"
    assert caught.value.log_lines == ("install g++", "/x/log")


def test_an_installer_that_dies_without_a_word_is_a_failure() -> None:
    with pytest.raises(EngineMissing, match="code 9"):
        asyncio.run(_all(_script("raise SystemExit(9)")))


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are ended differently on Windows")
def test_closing_the_iterator_ends_the_installer_and_its_children() -> None:
    command = _script(
        """
        import subprocess, sys, json
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        print(json.dumps({"event": "step", "step": "compile", "text": str(child.pid)}))
        child.wait()
        """
    )

    async def run() -> int:
        events = install_engine(command)
        first = await anext(events)
        await events.aclose()
        return int(first.text)

    pid = asyncio.run(run())
    try:
        psutil.Process(pid).wait(timeout=5)
    except psutil.NoSuchProcess:
        pass
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
