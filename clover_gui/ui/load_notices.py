"""What a load brought to light, for the chat page: nobody may have looked at the set-up page meanwhile."""

from __future__ import annotations

from clover_gui.explain import replan_text, template_text, warning_text
from clover_gui.pipeline.gpu_choice import GPU_CHOICE_MISSING
from clover_gui.pipeline.prepare import ReadyToChat
from clover_gui.ui.widgets.notice_bar import NoticeKind


def load_notices(ready: ReadyToChat) -> list[tuple[str, NoticeKind]]:
    """Sentences with their weight, for a model that was just loaded; most loads have none."""
    said: list[tuple[str, NoticeKind]] = []
    if text := template_text(ready.loaded.template, ready.loaded.template_error):
        said.append((text, NoticeKind.WARNING))
    if ready.measured is not None:
        said += [(warning_text(word), NoticeKind.WARNING) for word in ready.measured.warnings]
    if ready.replanned is not None:
        again = ready.replanned
        said.append((replan_text(again.reason, again.before, again.plan), NoticeKind.INFO))
    if GPU_CHOICE_MISSING in ready.plan.warnings:
        said.append((warning_text(GPU_CHOICE_MISSING), NoticeKind.INFO))
    return said
