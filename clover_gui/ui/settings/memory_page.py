"""How much of the chat a model can see, and how much graphics memory it may take."""

from __future__ import annotations

import dataclasses

from PySide6.QtWidgets import QWidget

from clover_gui.i18n import _, number, size
from clover_gui.settings import Settings
from clover_gui.ui.settings.fields import ChoiceField
from clover_gui.ui.settings.settings_page import SettingsPage, note_label

CONTEXT_CHOICES = (0, 4096, 8192, 16384, 32768, 65536, 131072, 262144)

RESERVE_CHOICES_MB = (-1, 0, 256, 512, 1024, 1536, 2048, 4096)


class MemoryPage(SettingsPage):
    """Changes ``context``, ``kv_type`` and ``reserve_mb``."""

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(_("Memory"), parent)
        self.context = ChoiceField(
            tuple(
                (n, _("{count} tokens").format(count=number(n)) if n else _("Automatic"))
                for n in CONTEXT_CHOICES
            ),
            settings.context,
        )
        self.kv_type = ChoiceField(
            (
                ("", _("Automatic")),
                ("f16", _("Full precision (F16)")),
                ("q8_0", _("Half the memory (Q8_0)")),
                ("q4_0", _("A quarter of the memory (Q4_0)")),
            ),
            settings.kv_type,
        )
        self.reserve = ChoiceField(
            tuple((mb, size(mb << 20) if mb >= 0 else _("Automatic")) for mb in RESERVE_CHOICES_MB),
            settings.reserve_mb,
        )
        self.add(note_label(_("Context and memory take effect the next time a model is loaded.")))
        self.add_gap()
        self.add_field(
            _("Context"),
            self.context,
            _("How much of a chat the model can see at once. More of it takes more memory."),
        )
        self.add_field(
            _("Context memory"),
            self.kv_type,
            _("How exactly the context is kept. Less exact saves memory and may cost a little quality."),
        )
        self.add_field(
            _("Graphics memory to keep free"),
            self.reserve,
            _("For the screen and for other programs that use the graphics card."),
        )

    def apply_to(self, settings: Settings) -> Settings:
        return dataclasses.replace(
            settings,
            context=self.context.currentData(),
            kv_type=self.kv_type.currentData(),
            reserve_mb=self.reserve.currentData(),
        )
