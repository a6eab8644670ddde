"""Presets in the dialog of a chat: saved, chosen, renamed, deleted and used for new chats, by keyboard."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from clover_gui.chat.options import ChatOptions
from clover_gui.chat.presets import Preset, Presets, load_presets
from clover_gui.engine.protocol import Sampling
from clover_gui.explain.sampling_words import named_settings
from clover_gui.paths import DataFolder
from clover_gui.ui.chat.options_dialog import OptionsDialog, UsualValues
from clover_gui.ui.chat.preset_name_dialog import PresetNameDialog
from clover_gui.ui.chat.setting_slider import SettingSlider
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.theme import Theme
from clover_gui.ui.workspace import Workspace
from tests.ui.accessible_tree import unnamed
from tests.ui.test_chats import data, dialog, drive, fill  # noqa: F401
from tests.ui.test_window import ready, until

USUAL = UsualValues(
    Sampling(temperature=1.0),
    Sampling(temperature=0.7),
    Sampling(temperature=0.6),
    "The card of the model.",
    "The card of the model, for code.",
)
BRIEF = Preset("Brief", "Be brief.", ChatOptions(temperature=0.2), thinking=False)


def opened(
    theme: Theme,
    qtbot: QtBot,
    presets: Presets,
    values: Preset | None = None,
    usual: UsualValues = USUAL,
) -> OptionsDialog:
    made = OptionsDialog(values or Preset(thinking=True), usual, presets, theme)
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(made)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    return made


def titles(panel: OptionsDialog) -> list[str]:
    combo = panel.presets.combo
    return [combo.itemText(i) for i in range(combo.count()) if combo.itemText(i)]


def name_dialog(name: str) -> None:
    (asking,) = [
        w for w in QApplication.topLevelWidgets() if isinstance(w, PresetNameDialog) and w.isVisible()
    ]
    assert unnamed(asking) == []
    asking.field.selectAll()
    QTest.keyClicks(asking.field, name)
    QTest.keyClick(asking.field, Qt.Key.Key_Return)


def choose(panel: OptionsDialog, title: str) -> None:
    """By arrow keys, as a person without a mouse does."""
    combo = panel.presets.combo
    combo.setFocus()
    down = combo.currentIndex() < combo.findText(title)
    for _step in range(combo.count()):
        if combo.currentText() == title:
            return
        QTest.keyClick(combo, Qt.Key.Key_Down if down else Qt.Key.Key_Up)
    raise AssertionError(f"{title} cannot be reached")


def test_makers_values_stay_on_top_with_their_source(theme: Theme, qtbot: QtBot) -> None:
    panel = opened(theme, qtbot, Presets((BRIEF,)))
    assert titles(panel) == ["Usual values", "Precise (for code and facts)", "Brief"]
    assert panel.presets.note.text() == "The card of the model."
    assert not panel.presets.delete_button.isEnabled()
    choose(panel, "Precise (for code and facts)")
    assert panel.presets.note.text() == "The card of the model, for code."
    assert panel.options() == ChatOptions(precise=True)
    assert panel.sliders["temperature"].shown.text() == "0.60"
    panel.think.click()
    assert panel.sliders["temperature"].shown.text() == "0.70"


def test_a_preset_sets_everything_and_what_was_set_by_hand_is_not_lost(theme: Theme, qtbot: QtBot) -> None:
    panel = opened(theme, qtbot, Presets((BRIEF,)))
    panel.instructions.setPlainText("My own words")
    panel.sliders["temperature"].slider.setValue(30)
    by_hand = panel.values()
    assert titles(panel) == ["Usual values", "Precise (for code and facts)", "Set by hand", "Brief"]
    choose(panel, "Brief")
    assert panel.values() == Preset("", BRIEF.instructions, BRIEF.options, BRIEF.thinking)
    assert not panel.think.isChecked()
    choose(panel, "Set by hand")
    assert panel.values() == by_hand


def test_a_day_with_presets_by_keyboard(theme: Theme, qtbot: QtBot) -> None:
    panel = opened(theme, qtbot, Presets())
    kept: list[Presets] = []
    panel.presets_changed.connect(kept.append)
    bar = panel.presets
    panel.instructions.setPlainText("Be brief.")
    bar.save_button.setFocus()
    QTest.keyClick(bar.save_button, Qt.Key.Key_Space)
    name_dialog("Brief")
    assert [p.name for p in kept[-1].entries] == ["Brief"]
    assert bar.combo.currentText() == "Brief"
    assert "Set by hand" not in titles(panel)

    QTest.keyClick(bar.default_box, Qt.Key.Key_Space)
    assert kept[-1].default == "Brief"
    QTest.keyClick(bar.rename_button, Qt.Key.Key_Space)
    name_dialog("Short")
    assert [p.name for p in kept[-1].entries] == ["Short"]
    assert kept[-1].default == "Short"
    assert bar.default_box.isChecked()

    # Saved again under its name: replaced. Under another one: both are there.
    panel.sliders["top_k"].slider.setValue(10)
    assert bar.combo.currentText() == "Set by hand"
    QTest.keyClick(bar.save_button, Qt.Key.Key_Space)
    name_dialog("short")
    assert [(p.name, p.options.top_k) for p in kept[-1].entries] == [("short", 10)]

    QTest.keyClick(bar.delete_button, Qt.Key.Key_Space)
    assert kept[-1] == Presets()
    assert panel.values().instructions == "Be brief."
    assert "brings it back" in bar.note.text()
    assert panel.focusWidget() is bar.undo_button  # its own button is off now
    assert unnamed(panel) == []
    QTest.keyClick(bar.undo_button, Qt.Key.Key_Space)
    assert [(p.name, p.options.top_k) for p in kept[-1].entries] == [("short", 10)]
    assert kept[-1].default == "short"
    assert bar.combo.currentText() == "short"
    assert not bar.undo_button.isVisible()
    assert panel.focusWidget() is bar.combo


def test_cancel_takes_deletions_back_and_save_does_not(theme: Theme, qtbot: QtBot) -> None:
    other = Preset("Other", "Be long.")
    for button, left in (("cancel", ["Brief", "Other"]), ("save", [])):
        panel = opened(theme, qtbot, Presets((BRIEF, other), "Other"))
        kept: list[Presets] = []
        panel.presets_changed.connect(kept.append)
        for name in ("Brief", "Other"):
            choose(panel, name)
            panel.presets.delete_button.click()
        assert kept[-1] == Presets()
        panel.reject() if button == "cancel" else panel.save_button.click()
        assert [preset.name for preset in kept[-1].entries] == left
        assert kept[-1].default == ("Other" if left else "")
        panel.close()


def test_a_name_that_is_taken_is_said_before_it_is_replaced(theme: Theme, qtbot: QtBot) -> None:
    asking = PresetNameDialog("Save", "", lambda name: name == "Brief", theme, may_replace=True)
    qtbot.addWidget(asking)
    asking.show()
    assert not asking.ok_button.isEnabled()
    asking.field.setText("Brief")
    assert asking.ok_button.text() == "Replace"
    assert "There is a preset of this name" in asking.note.text()
    other = PresetNameDialog("Rename", "Brief", lambda name: name == "Brief", theme, may_replace=False)
    qtbot.addWidget(other)
    assert not other.ok_button.isEnabled()


def test_new_chats_begin_with_the_chosen_preset_after_a_restart(
    drive,  # noqa: F811
    data: DataFolder,  # noqa: F811
    scripted_gguf: Path,
) -> None:
    fill(data, ("Old chat", "q", "a"))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        window.chat_page.composer.options_requested.emit()
        panel = dialog("optionsDialog")
        panel.instructions.setPlainText("Be brief.")
        panel.sliders["temperature"].slider.setValue(4)
        panel.think.setChecked(False)
        panel.presets.save_button.click()
        name_dialog("Brief")
        panel.presets.default_box.click()
        panel.reject()  # the open chat keeps what it had
        await until(lambda: load_presets(data.presets)[0].default == "Brief", "it is saved")
        assert workspace.chat.chat.system_prompt == ""

    async def afterwards(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        await workspace.chat.new_chat()
        composer = window.chat_page.composer
        assert not composer.thinking_button.isChecked()
        assert "changed" in composer.options_button.toolTip()
        composer.options_requested.emit()
        panel = dialog("optionsDialog")
        assert panel.presets.combo.currentText() == "Brief"
        assert panel.instructions.toPlainText() == "Be brief."
        assert panel.options() == ChatOptions(temperature=0.2)
        panel.reject()

    drive(script, scripted_gguf)
    drive(afterwards, scripted_gguf)


def test_a_file_that_cannot_be_read_is_said(drive, data: DataFolder) -> None:  # noqa: F811
    data.presets.write_text("{")

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await until(lambda: workspace.chat is not None, "the page works")
        await until(lambda: window.chat_page.notice.label.text(), "it is said")
        assert "presets.broken-1.json" in window.chat_page.notice.label.text()

    drive(script)


def test_values_can_be_typed_and_end_where_the_model_does(theme: Theme, qtbot: QtBot) -> None:
    usual = replace(USUAL, no_thinking="It does not think.", context=4096)
    panel = opened(theme, qtbot, Presets(), usual=usual)
    thinking, length, top_k = (panel.sliders[n] for n in ("thinking_tokens", "answer_tokens", "top_k"))
    assert not thinking.slider.isEnabled()
    assert not thinking.shown.isEnabled()
    assert thinking.slider.toolTip() == "It does not think."
    assert length.shown.text() == "4,096", "the usual length is more than the context has"
    assert length.value is None

    def type_into(setting: SettingSlider, text: str) -> None:
        setting.shown.setFocus()
        setting.shown.selectAll()
        QTest.keyClicks(setting.shown, text)
        QTest.keyClick(setting.shown, Qt.Key.Key_Tab)

    type_into(length, "1,000")
    assert length.value == 1000
    type_into(length, "999999")
    assert length.value == 4096
    type_into(length, "many")
    assert length.value == 4096
    assert length.shown.text() == "4,096"
    type_into(top_k, "33")
    assert (top_k.value, top_k.slider.value()) == (33, 33)
    type_into(panel.sliders["temperature"], "0.33")
    assert panel.options().temperature == 0.33
    assert panel.sliders["temperature"].shown.text() == "0.33"
    type_into(top_k, "0")
    assert top_k.shown.text() == "all"
    assert unnamed(panel) == []


def test_details_use_the_names_of_the_dialog() -> None:
    kept = "temperature 0.7, top_k 20, presence_penalty 1.5, json_only, new_thing 3"
    assert named_settings(kept) == (
        "Freedom 0.7, Number of words to choose from 20, Against repetition 1.5, JSON only, new_thing 3"
    )
