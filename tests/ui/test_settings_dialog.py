"""The settings' dialog by itself: pages, keyboard, small windows, names for screen readers, the token."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QScrollArea, QWidget

from clover_gui import i18n
from clover_gui.download.access_token import AccessToken
from clover_gui.settings import Settings
from clover_gui.storage.places import Place, PlaceKind
from clover_gui.ui.settings.general_page import GeneralPage
from clover_gui.ui.settings.memory_page import MemoryPage
from clover_gui.ui.settings.move_dialog import MoveDialog
from clover_gui.ui.settings.network_page import NetworkPage, TokenState
from clover_gui.ui.settings.places_page import PlacesPage, ShownPlace
from clover_gui.ui.settings.remove_dialog import RemoveDialog
from clover_gui.ui.settings.settings_dialog import SettingsDialog
from clover_gui.ui.settings.settings_page import SettingsPage
from clover_gui.ui.theme import Theme
from tests.ui.accessible_tree import unnamed

HUB = "https://huggingface.co"


@pytest.fixture(autouse=True)
def english() -> None:
    i18n.set_language("en")


@pytest.fixture
def kept() -> list[AccessToken | None]:
    return []


@pytest.fixture
def show(theme: Theme, kept: list[AccessToken | None]) -> Iterator[Callable[..., SettingsDialog]]:
    shown: list[SettingsDialog] = []

    def make(settings: Settings | None = None, token: TokenState | None = None) -> SettingsDialog:
        values = settings or Settings()
        pages: Sequence[SettingsPage] = (
            GeneralPage(values),
            MemoryPage(values),
            filled_places(theme),
            NetworkPage(values, token or TokenState(Path("/data/access-token.json"), "", False), kept.append),
        )
        dialog = SettingsDialog(lambda: values, pages, theme)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        dialog.show()
        shown.append(dialog)
        return dialog

    yield make
    for dialog in shown:
        dialog.deleteLater()


def filled_places(theme: Theme) -> PlacesPage:
    page = PlacesPage(theme, None, Path("/programs/clover/clover-data"))
    long = Path("/home/anna/a/rather/long/path/to/a/folder/that/is/not/easily/shown")
    page.show_places([ShownPlace(kind, long / kind.value, 21_700_000_000) for kind in PlaceKind])
    return page


def saved(dialog: SettingsDialog) -> list[Settings]:
    got: list[Settings] = []
    dialog.saved.connect(got.append)
    dialog.save_button.click()
    return got


def test_every_page_changes_its_own_fields_and_nothing_else(show: Callable[..., SettingsDialog]) -> None:
    before = Settings(model_path="/m.gguf", thinking=False, graphics="0", memory_panel=True, context=5000)
    dialog = show(before)
    assert saved(show(before)) == [before]
    general, memory = dialog.findChild(GeneralPage), dialog.findChild(MemoryPage)
    network = dialog.findChild(NetworkPage)
    general.theme.setCurrentIndex(general.theme.findData("dark"))
    general.new_versions.setChecked(True)
    memory.kv_type.setCurrentIndex(memory.kv_type.findData("q8_0"))
    network.proxy.setText(" http://proxy.example:1 ")
    assert saved(dialog) == [
        replace(
            before,
            theme="dark",
            look_for_new_versions=True,
            kv_type="q8_0",
            proxy="http://proxy.example:1",
        )
    ]


def test_what_changed_while_it_was_open_is_kept(theme: Theme) -> None:
    now = [Settings()]
    dialog = SettingsDialog(lambda: now[0], (GeneralPage(now[0]),), theme)
    now[0] = replace(now[0], models_folder="/moved")
    got: list[Settings] = []
    dialog.saved.connect(got.append)
    dialog._accept()
    assert got == [Settings(models_folder="/moved")]
    dialog.deleteLater()


def test_pages_by_keyboard(show: Callable[..., SettingsDialog]) -> None:
    dialog = show()
    dialog.activateWindow()
    assert QTest.qWaitForWindowActive(dialog)
    assert dialog.focusWidget() is dialog.list
    QTest.keyClick(dialog.list, Qt.Key.Key_Down)
    assert dialog.stack.currentIndex() == 1
    QTest.keyClick(dialog, Qt.Key.Key_Tab, Qt.KeyboardModifier.ControlModifier)
    assert dialog.stack.currentIndex() == 2
    for _press in range(2):
        QTest.keyClick(dialog, Qt.Key.Key_PageDown, Qt.KeyboardModifier.ControlModifier)
    assert dialog.stack.currentIndex() == 0
    QTest.keyClick(dialog, Qt.Key.Key_PageUp, Qt.KeyboardModifier.ControlModifier)
    assert dialog.stack.currentIndex() == 3
    assert dialog.list.currentRow() == 3


def test_nothing_is_unnamed_on_any_page(show: Callable[..., SettingsDialog]) -> None:
    dialog = show(token=TokenState(Path("/data/access-token.json"), HUB, True))
    for page in dialog.pages:
        dialog.show_page(page)
        QApplication.processEvents()
        assert unnamed(dialog) == [], page.title


@pytest.mark.parametrize("size", [(490, 370), (736, 552), (1100, 800)])
def test_nothing_is_cut_at_the_sides_or_squeezed(
    show: Callable[..., SettingsDialog], size: tuple[int, int]
) -> None:
    """490 by 370 is a screen of 800 by 600 at 150 %."""
    dialog = show()
    dialog.resize(*size)
    for page in dialog.pages:
        dialog.show_page(page)
        QApplication.processEvents()
        assert (dialog.width(), dialog.height()) == size
        area = dialog.stack.currentWidget()
        assert isinstance(area, QScrollArea)
        assert page.width() <= area.viewport().width(), page.title
        for label in page.findChildren(QLabel):
            if label.isVisibleTo(page) and label.wordWrap():
                assert label.height() >= label.heightForWidth(label.width()) - 1, label.text()


def test_the_wheel_over_a_field_does_not_change_it(show: Callable[..., SettingsDialog]) -> None:
    field = show().findChild(MemoryPage).context
    before = field.currentIndex()
    event = QWheelEvent(
        QPointF(5, 5),
        QPointF(5, 5),
        QPoint(0, -120),
        QPoint(0, -120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(field, event)
    assert field.currentIndex() == before


# ---------------------------------------------------------------------- the access token


def test_a_token_is_kept_for_the_server_in_the_same_dialog(
    show: Callable[..., SettingsDialog], kept: list[AccessToken | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    dialog = show()
    page = dialog.findChild(NetworkPage)
    page.hub_endpoint.setText("https://mirror.example/")
    page.token.setText(" hf_secretsecret ")
    (settings,) = saved(dialog)
    assert kept == [AccessToken("https://mirror.example", "hf_secretsecret")]
    assert "secret" not in repr(settings)
    assert page.token.text() == ""


def test_an_impossible_token_is_told_and_not_kept(
    show: Callable[..., SettingsDialog], kept: list[AccessToken | None]
) -> None:
    dialog = show()
    page = dialog.findChild(NetworkPage)
    dialog.show_page(page)
    page.token.setText("two words")
    assert page.token_problem.isVisible()
    saved(dialog)
    assert kept == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("hub_endpoint", "ftp://foo"),
        ("hub_endpoint", "mirror.example"),
        ("hub_endpoint", "https://name:word@mirror.example"),
        ("hub_endpoint", "https://"),
        ("proxy", "not a proxy"),
        ("proxy", "junk"),
        ("proxy", "socks5://proxy.example:1"),
        ("proxy", "http://proxy.example:99999"),
        ("proxy", "http://[::1"),
        ("token", "two words"),
    ],
)
def test_what_is_no_address_is_told_and_not_saved(
    show: Callable[..., SettingsDialog], field: str, value: str
) -> None:
    dialog = show()
    page = dialog.findChild(NetworkPage)
    getattr(page, field).setText(value)
    assert saved(dialog) == []
    assert dialog.isVisible()
    problems = {
        "hub_endpoint": page.endpoint_problem,
        "proxy": page.proxy_problem,
        "token": page.token_problem,
    }
    assert {name for name, label in problems.items() if label.isVisible()} == {field}
    getattr(page, field).setText("")
    assert saved(dialog) == [Settings()]


@pytest.mark.parametrize("proxy", ["proxy.example:3128", "http://anna:secret@10.0.0.1:80", "http://[::1]:8"])
def test_every_usual_form_of_a_proxy_is_saved(show: Callable[..., SettingsDialog], proxy: str) -> None:
    dialog = show(Settings(hub_endpoint="https://mirror.example/hub"))
    dialog.findChild(NetworkPage).proxy.setText(proxy)
    assert [settings.proxy for settings in saved(dialog)] == [proxy]


def test_a_kept_token_is_never_shown_and_can_be_forgotten(
    show: Callable[..., SettingsDialog], kept: list[AccessToken | None]
) -> None:
    dialog = show(token=TokenState(Path("/data/access-token.json"), HUB, False))
    page = dialog.findChild(NetworkPage)
    assert page.token.text() == ""
    assert any("huggingface.co" in label.text() for label in page.findChildren(QLabel))
    page.forget_token.setChecked(True)
    saved(dialog)
    assert kept == [None]


# ---------------------------------------------------------------------- removing, moving


def test_chats_are_only_removed_with_a_second_tick(theme: Theme) -> None:
    places = [(Place(kind, Path("/d"), (Path("/d") / kind.value,)), 1000) for kind in PlaceKind]
    agreed: list[list[Place]] = []

    def open_dialog() -> RemoveDialog:
        dialog = RemoveDialog(places, theme)
        dialog.agreed.connect(agreed.append)
        return dialog

    dialog = open_dialog()
    assert "/d/models" in dialog.list.toPlainText()
    assert "/d/chats" not in dialog.list.toPlainText()
    assert not dialog.remove_button.isDefault()
    assert unnamed(dialog) == []
    dialog.remove_button.click()
    assert PlaceKind.CHATS not in {place.kind for place in agreed[0]}
    dialog = open_dialog()
    dialog.chats_too.setChecked(True)
    assert "/d/chats" in dialog.list.toPlainText()
    dialog.remove_button.click()
    assert {place.kind for place in agreed[1]} == set(PlaceKind)


def test_nothing_to_remove_cannot_be_removed(theme: Theme) -> None:
    dialog = RemoveDialog([(Place(kind, Path("/d"), ()), 0) for kind in PlaceKind], theme)
    assert not dialog.remove_button.isEnabled()
    dialog.deleteLater()


def test_a_move_that_works_is_stopped_not_closed(theme: Theme) -> None:
    dialog = MoveDialog(Path("/other"), theme)
    dialog.show()
    stops: list[bool] = []
    dialog.stop_requested.connect(lambda: stops.append(True))
    dialog.close()
    assert dialog.isVisible()
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert dialog.isVisible()
    assert len(stops) == 2
    assert unnamed(dialog) == []
    dialog.show_failure("Title", "Text", can_go_on=True)
    assert dialog.retry_button.isVisible()
    assert not dialog.stop_button.isVisible()
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
    dialog.deleteLater()


def test_the_page_asks_for_sizes_when_it_is_first_seen(theme: Theme) -> None:
    page = PlacesPage(theme, Path("/p/clover-data"), Path("/p/clover-data"))
    wanted: list[bool] = []
    page.places_wanted.connect(lambda: wanted.append(True))
    holder = QWidget()
    page.setParent(holder)
    assert not page.move_button.isEnabled()
    holder.show()
    page.show()
    page.hide()
    page.show()
    assert wanted == [True]
    assert "portable" in page.portable_note.text()
    holder.deleteLater()
