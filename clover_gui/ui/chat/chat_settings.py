"""The switches and settings of the chat that is open: the composer's two buttons, and the dialog behind one.

Knows what the model's makers say; knows nothing of messages and answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from clover_gui.chat.presets import Preset, PresetBook
from clover_gui.engine.engine import Engine
from clover_gui.engine.protocol import Loaded, Sampling
from clover_gui.i18n import _
from clover_gui.ui.chat.chat_page import ChatPage
from clover_gui.ui.chat.makers_values import MakersValues
from clover_gui.ui.chat.open_chat import OpenChat
from clover_gui.ui.chat.options_dialog import OptionsDialog, UsualValues
from clover_gui.ui.theme import Theme


class ChatSettings:
    """``start`` runs what has to be waited for, under a name."""

    def __init__(
        self,
        page: ChatPage,
        theme: Theme,
        engine: Engine,
        open_chat: OpenChat,
        makers: MakersValues,
        presets: PresetBook,
        start: Callable[[Awaitable[object], str], None],
    ) -> None:
        self._page = page
        self._theme = theme
        self._engine = engine
        self._open = open_chat
        self._makers = makers
        self._presets = presets
        self._start = start

    def show_switches(self) -> None:
        """The composer shows what is set in the open chat, and what the model can."""
        loaded = self._engine.loaded
        wanted = self._open.chat.thinking if self._open.chat is not None else self._open.thinking
        reason = _no_switch(loaded) if loaded is not None else ""
        self._page.composer.set_thinking(wanted, reason)
        options_set = bool(self._open.system_prompt.strip()) or not self._open.options.is_default
        self._page.composer.set_options_set(options_set)

    def show_dialog(self) -> OptionsDialog:
        """Instructions and settings of this chat."""
        opened = self._open
        thinking = opened.chat.thinking if opened.chat is not None else opened.thinking
        dialog = OptionsDialog(
            Preset("", opened.system_prompt, opened.options, thinking),
            self._usual_values(),
            self._presets.presets,
            self._theme,
            self._page.window(),
        )
        dialog.saved.connect(lambda values: self._start(self._set_options(values), "settings"))
        dialog.presets_changed.connect(lambda all_: self._start(self._presets.change(all_), "presets"))
        dialog.open()
        return dialog

    def _usual_values(self) -> UsualValues:
        loaded = self._engine.loaded
        if loaded is None:
            return UsualValues(Sampling(), Sampling())
        thinking = loaded.can_switch_thinking and bool(self._page.composer.thinking)
        return UsualValues(
            self._makers.usual(True),
            self._makers.usual(False),
            self._makers.precise(),
            self._makers.source(thinking=thinking, precise=False),
            self._makers.source(thinking=True, precise=True),
            loaded.can_switch_thinking,
            _no_switch(loaded),
            loaded.context,
        )

    async def _set_options(self, values: Preset) -> None:
        await self._open.set_options(values.instructions, values.options)
        if values.thinking is not None:
            await self._open.set_thinking(values.thinking)
        self.show_switches()


def _no_switch(loaded: Loaded) -> str:
    """Why thinking cannot be switched; "" where it can."""
    if loaded.can_switch_thinking:
        return ""
    if loaded.template == "plain":
        return _("Without the file's own chat template thinking cannot be switched.")
    return _("This model does not think before it answers: its template has no such switch.")
