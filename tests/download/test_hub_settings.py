"""Where the hub is, and who may see the token."""

from __future__ import annotations

from pathlib import Path

import pytest

from clover_gui.download.hub_settings import DEFAULT_ENDPOINT, HubSettings, hub_settings


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
