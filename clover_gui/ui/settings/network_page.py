"""Where models are downloaded from, how it is reached, and the access token for models given to some only.

The token is not one of the settings: it goes into a file of its own (see ``download/access_token.py``), is
never shown again, and never written into a log or a report.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from PySide6.QtWidgets import QCheckBox, QLabel, QLineEdit, QWidget

from clover_gui.download.access_token import AccessToken, is_possible
from clover_gui.download.hub_settings import endpoint_for, is_endpoint, is_proxy
from clover_gui.i18n import _, capped
from clover_gui.settings import Settings
from clover_gui.ui.settings.fields import line_field
from clover_gui.ui.settings.settings_page import SettingsPage, note_label


@dataclass(frozen=True, slots=True)
class TokenState:
    """What is known of the token: ``file`` keeps it, ``kept_for`` is the server's address or "".

    ``from_environment``: the variable is set, and it wins.
    """

    file: Path
    kept_for: str
    from_environment: bool


class NetworkPage(SettingsPage):
    """Changes ``hub_endpoint`` and ``proxy``; ``keep_token`` gets a new token, or None to forget it."""

    def __init__(
        self,
        settings: Settings,
        token: TokenState,
        keep_token: Callable[[AccessToken | None], None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(_("Network"), parent)
        self._keep_token = keep_token
        self.hub_endpoint = line_field(settings.hub_endpoint, _("the usual hub"))
        self.proxy = line_field(settings.proxy, _("the system's"))
        self.token = line_field("", _("not set"))
        self.token.setEchoMode(QLineEdit.EchoMode.Password)
        self.token_problem = note_label(
            _("This cannot be an access token: it has spaces or characters that no token has.")
        )
        self.endpoint_problem = note_label(
            _("This is no address to download from. It begins with https:// or http:// and names a server.")
        )
        self.proxy_problem = note_label(
            _("This is no address of a proxy. It has the form http://proxy.example:3128")
        )
        self._problems: tuple[tuple[QLineEdit, QLabel, Callable[[str], bool]], ...] = (
            (self.hub_endpoint, self.endpoint_problem, is_endpoint),
            (self.proxy, self.proxy_problem, is_proxy),
            (self.token, self.token_problem, lambda text: not text or is_possible(text)),
        )
        for field, problem, _fits in self._problems:
            problem.setObjectName("warningNote")
            field.textChanged.connect(self._look)
        self.forget_token = QCheckBox(_("Forget the access token"))
        self.add_field(
            _("Address to download from"),
            self.hub_endpoint,
            _("Only needed for a mirror. It begins with https://"),
            self.endpoint_problem,
        )
        self.add_field(
            _("Proxy"),
            self.proxy,
            _("Only needed where the system does not know it. For example: http://proxy.example:3128"),
            self.proxy_problem,
        )
        self.add_field(_("Access token"), self.token, _token_note(token), self.token_problem)
        self.add(
            note_label(
                _("It is kept in the file {file}, which only you can read, and appears in no report.").format(
                    file=capped(str(token.file), 200)
                )
            )
        )
        if token.kept_for:
            self.token.setPlaceholderText(_("kept; a new one replaces it"))
            self.add(self.forget_token)
        self._look()

    def wrong_field(self) -> QWidget | None:
        return next(
            (field for field, _problem, fits in self._problems if not fits(field.text().strip())), None
        )

    def apply_to(self, settings: Settings) -> Settings:
        endpoint = self.hub_endpoint.text().strip()
        written = self.token.text().strip()
        if is_possible(written):
            self._keep_token(AccessToken(endpoint_for(endpoint), written))
        elif self.forget_token.isChecked():
            self._keep_token(None)
        self.token.clear()
        return dataclasses.replace(settings, hub_endpoint=endpoint, proxy=self.proxy.text().strip())

    def _look(self) -> None:
        for field, problem, fits in self._problems:
            problem.setVisible(not fits(field.text().strip()))


def _token_note(token: TokenState) -> str:
    sentences = [_("Only needed for models that are not given to everybody; you get it on the hub's pages.")]
    if token.from_environment:
        sentences.append(_("The variable HF_TOKEN is set, and it is used first."))
    if token.kept_for:
        host = capped(urlsplit(token.kept_for).netloc)
        sentences.append(_("A token for {host} is kept; it is sent to no other server.").format(host=host))
    return " ".join(sentences)
