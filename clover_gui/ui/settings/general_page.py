"""Language, appearance, and whether to look for newer versions."""

from __future__ import annotations

import dataclasses

from PySide6.QtWidgets import QCheckBox, QWidget

from clover_gui.i18n import _
from clover_gui.settings import Settings
from clover_gui.ui.settings.fields import ChoiceField
from clover_gui.ui.settings.settings_page import SettingsPage, note_label


class GeneralPage(SettingsPage):
    """Changes ``language``, ``theme`` and ``look_for_new_versions``."""

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(_("General"), parent)
        self.language = ChoiceField(
            (("", _("Same as the system")), ("en", "English"), ("de", "Deutsch")), settings.language
        )
        self.theme = ChoiceField(
            (("system", _("Same as the system")), ("light", _("Light")), ("dark", _("Dark"))), settings.theme
        )
        self.new_versions = QCheckBox(_("Say when a newer version is there"))
        self.new_versions.setChecked(settings.look_for_new_versions)
        note = _(
            "Asks once a day at most for the number of the newest version, and sends nothing about you or"
            " this machine. Nothing is downloaded by itself."
        )
        self.new_versions.setAccessibleDescription(note)
        self.add_field(_("Language"), self.language)
        self.add_field(_("Appearance"), self.theme)
        self.add(self.new_versions)
        self.add(note_label(note))

    def apply_to(self, settings: Settings) -> Settings:
        return dataclasses.replace(
            settings,
            language=self.language.currentData(),
            theme=self.theme.currentData(),
            look_for_new_versions=self.new_versions.isChecked(),
        )
