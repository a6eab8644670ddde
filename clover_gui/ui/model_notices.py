"""What the notice bars of both pages say about models: what a load brought to light, why it failed, an offer
to load again. Decides nothing.
"""

from __future__ import annotations

from clover_gui.errors import CloverError
from clover_gui.explain import explain, refit_text, replan_text, template_text, warning_text
from clover_gui.explain.repair_hints import speech_text
from clover_gui.i18n import _
from clover_gui.patching.check import SpeechCheck
from clover_gui.pipeline.gpu_choice import GPU_CHOICE_MISSING
from clover_gui.pipeline.prepare import ReadyToChat
from clover_gui.planning.fit_watch import RefitOffer
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.setup.setup_display import ENGINE
from clover_gui.ui.widgets.notice_bar import NoticeKind

REFIT = "refit"
"""The key of a notice's button that loads the model again with a new plan."""


class ModelNotices:
    """Each notice replaces the former one about the same thing."""

    def __init__(self, window: MainWindow) -> None:
        self._pages = window.pages
        self._setup_page = window.setup_page
        self._chat_page = window.chat_page
        self._speech: tuple[str, NoticeKind] | None = None

    def speech_checked(self, check: SpeechCheck) -> None:
        """After a repair: whether the model talks sense. Said with the load that is going on."""
        kind = NoticeKind.INFO if check.passes else NoticeKind.WARNING
        text = _("The file was repaired. Asked for the capital of Australia it says: {answer}").format(
            answer=check.answer
        )
        self._speech = (f"{text} {speech_text(check.verdict.value)}", kind)

    def loading(self, text: str) -> None:
        """How a load goes, also on the chat page, where old chats can be read meanwhile."""
        if self._pages.currentWidget() is self._chat_page:
            self._chat_page.notice.show_notice(text, about="load", lasting=True)

    def loaded(self, ready: ReadyToChat) -> None:
        """What the load brought to light: nobody may have looked at the set-up page meanwhile."""
        notice = self._chat_page.notice
        notice.withdraw("load")
        said = _brought_to_light(ready)
        if self._speech is not None:
            said.append(self._speech)
            self._speech = None
        if not said:
            notice.withdraw("loaded")
            return
        is_warning = any(kind is NoticeKind.WARNING for _text, kind in said)
        kind = NoticeKind.WARNING if is_warning else NoticeKind.INFO
        text = "\n".join(text for text, _kind in said)
        notice.show_notice(text, kind, about="loaded", lasting=True)

    def failed_beside_chat(self, error: CloverError) -> None:
        """The model of before is still there; said where the load's progress was shown."""
        notice = self._chat_page.notice
        if notice.says("load"):
            notice.show_notice(explain(error).text, NoticeKind.ERROR, about="load")

    def failed(self, error: CloverError) -> None:
        """Why there is no model, on the set-up page."""
        self._setup_page.notice.show_notice(explain(error).text, NoticeKind.ERROR)

    def cannot_open(self, error: CloverError) -> None:
        """The file that was picked is no model: said where the person is."""
        in_chat = self._pages.currentWidget() is self._chat_page
        page = self._chat_page if in_chat else self._setup_page
        page.notice.show_notice(explain(error).text, NoticeKind.ERROR)

    def not_found(self, error: CloverError) -> None:
        """The model that was asked for at the start is not here."""
        self._setup_page.notice.show_notice(explain(error).text, NoticeKind.WARNING)

    def offer_refit(self, offer: RefitOffer) -> None:
        """The plan does not fit any more."""
        action = (REFIT, _("Load again"))
        self._chat_page.notice.show_notice(refit_text(offer), NoticeKind.WARNING, action, about=REFIT)

    def engine_fell_back(self, text: str) -> None:
        """The chosen engine could not be used: said wherever the person is."""
        for page in (self._setup_page, self._chat_page):
            action = (ENGINE, _("Choose another engine…"))
            page.notice.show_notice(text, NoticeKind.WARNING, action, about=ENGINE)


def _brought_to_light(ready: ReadyToChat) -> list[tuple[str, NoticeKind]]:
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
