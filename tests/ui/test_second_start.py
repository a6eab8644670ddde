"""A second start while the window is open: what it was asked to open comes up in the first one."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clover_gui.paths import DataFolder
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.workspace import Workspace
from tests.ui.test_chats import data, drive  # noqa: F401
from tests.ui.test_window import until


@pytest.mark.parametrize("option", [[], ["--model"]], ids=["as a double click", "by name"])
def test_a_second_start_with_a_file_opens_it_in_the_first_window(
    drive,  # noqa: F811
    data: DataFolder,  # noqa: F811
    tiny_gguf: Path,
    option: list[str],
) -> None:
    """Named from another folder, as a file manager or a person there does."""

    async def script(window: MainWindow, workspace: Workspace) -> None:
        window.show_chat()
        second = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "clover_gui", "--data-dir", str(data.root), *option, tiny_gguf.name],
            env=os.environ | {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(Path(__file__).parents[2])},
            cwd=tiny_gguf.parent,
            timeout=60,
            check=False,
        )
        assert second.returncode == 0
        await until(lambda: window.pages.currentWidget() is window.setup_page, "the file's page is shown")
        await until(lambda: workspace.setup.can_start, "the file is looked at")
        assert any(tiny_gguf.name in str(choice) for choice in window.setup_page.model_card.choices)

    drive(script)
