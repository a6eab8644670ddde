"""``--smoke-test``: the real window does its main job once and tells by its exit code whether it worked."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

from clover_gui.chat.events import AnswerEnded
from clover_gui.errors import CloverError
from clover_gui.explain import explain
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.workspace import Workspace

FAILED = 1


@dataclass(frozen=True, slots=True)
class SmokeTest:
    """What to do once the model is loaded: ask ``prompt``, save a picture. ``timeout_s`` for all of it."""

    prompt: str
    screenshot: Path | None
    timeout_s: float


async def run_smoke_test(test: SmokeTest, window: MainWindow, workspace: Workspace) -> int:
    """0 when an answer came, else 1 with the reason on stderr. The answer goes to stdout."""
    try:
        async with asyncio.timeout(test.timeout_s):
            ended = await _ask(test, window, workspace)
    except CloverError as error:
        words = explain(error)
        reason = f"{words.sentence} {words.next_step} {words.detail}".strip()
    except TimeoutError:
        reason = f"no answer within {test.timeout_s:.0f} s"
    else:
        reason = "the answer is empty" if ended.empty else ""
        stats = ended.message.stats
        speed = stats.write_tokens_per_second if stats else None
        print(ended.message.text.strip())
        if stats is not None and speed is not None:
            print(f"{stats.tokens_written} tokens, {speed:.1f} tokens/s")
    _save_picture(test, window)
    if reason:
        print(f"smoke test failed: {reason}", file=sys.stderr)
    return FAILED if reason else 0


async def _ask(test: SmokeTest, window: MainWindow, workspace: Workspace) -> AnswerEnded:
    failure: asyncio.Future[CloverError] = asyncio.get_running_loop().create_future()

    def failed(error: CloverError) -> None:
        if not failure.done():
            failure.set_result(error)

    workspace.setup.failed.connect(failed)
    while workspace.engine.loaded is None or window.pages.currentWidget() is not window.chat_page:
        if failure.done():
            raise failure.result()
        await asyncio.sleep(0.02)
    assert workspace.chat is not None
    answer: asyncio.Future[AnswerEnded | CloverError] = asyncio.get_running_loop().create_future()

    def answered(result: AnswerEnded | CloverError) -> None:
        if not answer.done():
            answer.set_result(result)

    workspace.chat.answer_finished.connect(answered)
    window.chat_page.composer.set_text(test.prompt)
    window.chat_page.composer.send_button.click()
    result = await answer
    if isinstance(result, CloverError):
        raise result
    await asyncio.sleep(1.2)  # one more look of the memory gauges, for the picture
    return result


def _save_picture(test: SmokeTest, window: MainWindow) -> None:
    if test.screenshot is not None:
        test.screenshot.parent.mkdir(parents=True, exist_ok=True)
        if not window.grab().save(str(test.screenshot)):
            print(f"the picture could not be saved as {test.screenshot}", file=sys.stderr)
