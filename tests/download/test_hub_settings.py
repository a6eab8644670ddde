"""Where the hub is, and who may see the token."""

from __future__ import annotations

from pathlib import Path

import pytest

from clover_gui.download.access_token import AccessToken
from clover_gui.download.connection import connection_error, error_text
from clover_gui.download.hub_settings import DEFAULT_ENDPOINT, HubSettings, hub_settings, settings_as_they_are
from clover_gui.errors import HubUnreachable


def test_the_variables_that_people_know(tmp_path: Path) -> None:
    bundle = tmp_path / "certificates.pem"
    bundle.write_text("")
    known = {"HF_ENDPOINT": "https://mirror.example/", "HF_TOKEN": "hf_x", "SSL_CERT_FILE": str(bundle)}
    assert hub_settings(environment=known) == HubSettings("https://mirror.example", "hf_x", "", bundle)
    assert hub_settings(environment={}) == HubSettings(DEFAULT_ENDPOINT)


def test_a_token_stays_with_its_endpoint() -> None:
    assert hub_settings("https://other.example", environment={"HF_TOKEN": "hf_x"}).token == ""
    assert hub_settings(DEFAULT_ENDPOINT, environment={"HF_TOKEN": "hf_x"}).token == "hf_x"


@pytest.mark.parametrize("address", ["mirror.example", "ftp://mirror.example", "https://", "https://me:pw@x"])
def test_what_is_no_endpoint(address: str) -> None:
    with pytest.raises(ValueError, match="endpoint"):
        HubSettings(address)


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://hub.example/a", True),
        ("https://HUB.example:443/a", True),
        ("http://hub.example/a", False),
        ("https://hub.example:8443/a", False),
        ("https://cdn.hub.example/a", False),
        ("https://hub.example.evil/a", False),
    ],
)
def test_who_may_see_the_token(url: str, allowed: bool) -> None:
    assert HubSettings("https://hub.example", token="hf_x").may_have_token(url) is allowed


@pytest.mark.parametrize(
    "token",
    ["hf_SECRETabc\nfoo", "hf_SECRETabc\r\nX-Evil: 1", "hf_SECRET“x”", "hf_SECRET x", "hf_SECRET" * 100],
)
def test_what_cannot_be_a_token_is_not_sent_and_not_shown(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="HF_TOKEN") as caught:
        hub_settings(environment={"HF_TOKEN": token})
    assert "SECRET" not in str(caught.value)
    # The window goes on without it.
    monkeypatch.setenv("HF_TOKEN", token)
    assert settings_as_they_are("", "").token == ""
    kept = AccessToken(DEFAULT_ENDPOINT, "hf_kept")
    assert settings_as_they_are("", "", kept).token == "hf_kept"


def test_what_an_error_quotes_is_not_shown() -> None:
    error = ValueError("Illegal header value b'Bearer hf_SECRETabc\\nfoo'")
    assert "SECRET" not in error_text(error)
    assert "foo" not in error_text(error)
    assert "secret-word" not in error_text(OSError("no route to http://me:secret-word@proxy.example"))
    assert isinstance(connection_error(error, "hub.example"), HubUnreachable)
