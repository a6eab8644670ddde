"""What the hub's listing becomes, and what its refusals become."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from clover_gui import errors
from clover_gui.download.hub import Hub
from clover_gui.download.hub_settings import HubSettings
from clover_gui.explain import explain
from tests.download.conftest import NAME, SIZE
from tests.kit.fake_hub import REPOSITORY, FakeHub


def test_a_file_has_size_checksum_and_revision(hub: FakeHub, served: Path) -> None:
    found = Hub(HubSettings(hub.endpoint)).find(REPOSITORY, "*q4_k_m*")
    assert found.name == NAME
    assert found.size_bytes == SIZE
    assert found.sha256 == hashlib.sha256((served / NAME).read_bytes()).hexdigest()
    assert found.revision == hub.commit()
    assert found.architecture == "clover_moe"
    assert found.url == f"{hub.endpoint}/{REPOSITORY}/resolve/{hub.commit()}/{NAME}"


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (401, "RepoNotFound", errors.HubRefused),
        (401, "", errors.HubRefused),
        (403, "GatedRepo", errors.HubRefused),
        (404, "RepoNotFound", errors.HubNotFound),
        (404, "RevisionNotFound", errors.HubNotFound),
        (429, "", errors.HubBusy),
        (500, "", errors.HubFailed),
        (503, "", errors.HubFailed),
        (400, "", errors.HubFailed),
    ],
)
def test_refusals(hub: FakeHub, status: int, code: str, expected: type[errors.DownloadError]) -> None:
    hub.order("status", on="api", value=status, error_code=code, retry_after="7")
    with pytest.raises(errors.DownloadError) as caught:
        Hub(HubSettings(hub.endpoint)).files(REPOSITORY, "v1")
    assert type(caught.value) is expected
    assert caught.value.host == f"127.0.0.1:{hub.port}"
    if isinstance(caught.value, errors.HubBusy):
        assert caught.value.retry_after_s == 7
    if isinstance(caught.value, errors.HubRefused):
        assert caught.value.gated == (code == "GatedRepo")


@pytest.mark.parametrize("kind", ["page", "login"])
def test_a_login_page_is_told_apart(hub: FakeHub, kind: str) -> None:
    hub.order(kind, on="api")
    with pytest.raises(errors.WebPageReceived) as caught:
        Hub(HubSettings(hub.endpoint)).files(REPOSITORY)
    assert caught.value.host == f"127.0.0.1:{hub.port}"


def test_nobody_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(errors.HubUnreachable) as caught:
        Hub(HubSettings(address)).files(REPOSITORY)
    assert caught.value.kind == "refused"


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(errors.HubUnreachable) as caught:
        Hub(HubSettings("http://no-such-host.invalid")).files(REPOSITORY)
    assert caught.value.kind == "name"


def test_a_name_that_cannot_be_a_repository(hub: FakeHub) -> None:
    with pytest.raises(errors.HubNotFound):
        Hub(HubSettings(hub.endpoint)).files("not a/../repository")


def test_without_checksum_the_known_one_counts(hub: FakeHub) -> None:
    hub.checksums = False
    listing = Hub(HubSettings(hub.endpoint))
    with pytest.raises(errors.ChecksumUnknown):
        listing.find(REPOSITORY, NAME)
    assert listing.find(REPOSITORY, NAME, sha256="AB" * 32).sha256 == "ab" * 32


def test_the_token_goes_to_the_endpoint_and_nowhere_else(hub: FakeHub, tmp_path: Path) -> None:
    with FakeHub(tmp_path) as other:
        settings = HubSettings(hub.endpoint, token="hf_secret")
        Hub(settings).files(REPOSITORY)
        assert hub.log[-1].authorization == "Bearer hf_secret"
        hub.order("elsewhere", on="api", location=f"{other.endpoint}/api/models/{REPOSITORY}")
        Hub(settings).files(REPOSITORY)
        assert other.log
        assert all(not asked.authorization for asked in other.log)
        assert "hf_secret" not in repr(settings)


def test_a_token_of_this_machine_is_not_sent_unasked(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_of_this_machine")
    Hub(HubSettings(hub.endpoint)).files(REPOSITORY)
    assert all(not asked.authorization for asked in hub.log)


def test_a_private_certificate(served: Path, certificate: tuple[Path, Path]) -> None:
    with FakeHub(served, certificate) as hub:
        with pytest.raises(errors.HubCertificateRefused):
            Hub(HubSettings(hub.endpoint)).files(REPOSITORY)
        trusting = HubSettings(hub.endpoint, certificates=certificate[0])
        assert Hub(trusting).find(REPOSITORY, NAME).size_bytes == SIZE


def test_through_a_proxy(hub: FakeHub) -> None:
    """A proxy is asked for whole addresses; the fake hub serves them as if they were its own."""
    proxied = HubSettings("http://models.invalid", proxy=f"http://me:secret@127.0.0.1:{hub.port}")
    assert Hub(proxied).find(REPOSITORY, NAME).size_bytes == SIZE
    assert hub.log[-1].path.startswith("http://models.invalid/")
    assert hub.log[-1].proxy_authorization.startswith("Basic ")
    assert "secret" not in repr(proxied)


@pytest.mark.parametrize("location", ["http://[", "http://h:99999999/", "file:///etc/passwd", ""])
def test_a_redirect_that_leads_nowhere_is_the_servers_fault(hub: FakeHub, location: str) -> None:
    hub.order("elsewhere", on="api", location=location)
    with pytest.raises(errors.HubFailed) as caught:
        Hub(HubSettings(hub.endpoint)).files(REPOSITORY)
    assert (caught.value.host, caught.value.status) == (f"127.0.0.1:{hub.port}", 302)


def test_who_cannot_be_reached_is_the_one_that_the_redirect_named(hub: FakeHub) -> None:
    hub.order("elsewhere", on="api", location="http://me:pass-word@no-such-host.invalid/x")
    with pytest.raises(errors.HubUnreachable) as caught:
        Hub(HubSettings(hub.endpoint)).files(REPOSITORY)
    assert (caught.value.host, caught.value.kind) == ("no-such-host.invalid", "name")
    assert "pass-word" not in str(explain(caught.value))


def test_a_circle_of_redirects(hub: FakeHub) -> None:
    hub.order("elsewhere", on="api", times=100, location=f"{hub.endpoint}/api/models/{REPOSITORY}")
    with pytest.raises(errors.HubFailed) as caught:
        Hub(HubSettings(hub.endpoint)).files(REPOSITORY)
    assert caught.value.status == 310


def test_nothing_else_is_asked(served: Path, tmp_path: Path) -> None:
    """By a fresh process: the library asks for its own list once in each, and keeps it for a day."""
    code = (
        "import sys; from clover_gui.download.hub import Hub;"
        "from clover_gui.download.hub_settings import HubSettings;"
        "Hub(HubSettings(sys.argv[1])).files(sys.argv[2])"
    )
    with FakeHub(served) as hub:
        environment = os.environ | {"HF_HOME": str(tmp_path / "home"), "HF_ENDPOINT": hub.endpoint}
        for name in ("HF_HUB_DISABLE_TELEMETRY", "DISABLE_TELEMETRY", "DO_NOT_TRACK"):
            environment.pop(name, None)
        subprocess.run([sys.executable, "-c", code, hub.endpoint, REPOSITORY], env=environment, check=True)
        assert [asked.path.partition("?")[0] for asked in hub.log] == [f"/api/models/{REPOSITORY}"]
