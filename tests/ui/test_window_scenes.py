"""Every state of the window that a picture is made of: what must stand in it, said by real models."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from clover_gui import i18n
from tests.benchmarks.window_scenes import Look, Scene, play, scenes

SENTENCES: dict[str, tuple[str, ...]] = {
    "empty": ("What would you like to know?", "Thinking: on", "New chat"),
    "search": ("light", "Search all chats"),
    "options": ("Instructions", "You are a patient teacher.", "Back to the model's defaults"),
    "settings": ("Language", "Appearance"),
    "diagnostics": ("Nothing of your chats is in it", "== Machine", "llama-cpp-python"),
    "help": ("Writing", "Send the message", "Ctrl+T"),
    "attachments": ("Ideas for the museum.md · ", "lamp-hours.csv · ", " tokens"),
    "setup": ("This machine", "Start chatting"),
    "plan": ("How it fits", "Context", "Start chatting"),
    "streaming": ("The Fresnel lens", "Stop"),
    "thinking-folded": ("Thought for ", " · 45 tokens", "less than 250 watts", "Send"),
    "code": ("python", "def duplicates(folder: Path)", "Links are left alone."),
    "table": ("| Jupiter | 142,984 km |", "turn the fastest"),
    "formula": ("\\sqrt{\\frac{l}{g}}", "cannonball"),
    "thinking-open": ("Thinking… ", " of 4,096 tokens", "Stop"),
    "thinking-budget": ("Thinking… ", " of 4,096 tokens", "Stop"),
    "thinking-stopped": ("Stopped thinking at 4,610 tokens, the limit that is set.", "1,484"),
    "reserve": ("tokens, to leave room for the answer.", "1,484"),
    "thinking-loop": ("the thoughts only repeated themselves.", "seven crossings"),
    "answer-loop": ("Stopped: the model repeated itself. Answer again", "Try again"),
    "empty-answer": ("The answer is empty: all 150 tokens were thoughts.", "Try again"),
    "degenerate": ("Stopped: the model repeated itself.", "the model file or its quantisation", "Try again"),
    "no-numbers": ("values that are no numbers", "the model file or its quantisation", "Try again"),
    "error": ("The engine is ready again.", "The engine was ended from outside", "The Fresnel lens"),
    "overflow": (
        "“And if it rains all three days?”",
        "This does not fit: the chat has ",
        "Leave out the 2 oldest turns",
        "Ask in a new chat",
        "Larger context…",
        "Do not send",
    ),
    "dropped": ("What stands above is not sent to the model any more.", "second pair of shoes"),
}


def test_every_picture_has_its_sentences() -> None:
    assert SENTENCES.keys() == {name for scene in scenes() for name in scene.pictures}


@pytest.mark.parametrize("scene", scenes(), ids=lambda scene: scene.pictures[0])
def test_the_picture_says_it(scene: Scene, qapp: QApplication, tmp_path: Path) -> None:
    try:
        for picture in play(qapp, scene, Look(), tmp_path):
            said = "\n".join(picture.texts)
            missing = [text for text in SENTENCES[picture.name] if text not in said]
            assert not missing, (picture.name, missing, said)
            assert "{" not in said.replace("{l}{g}", "") or picture.name in ("formula", "diagnostics")
            assert picture.pixmap.width() >= 1400
    finally:
        i18n.set_language("en")
