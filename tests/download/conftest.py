"""A hub on loopback, a folder to download into, and a download that remembers what it told."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import pytest

from clover_gui.download.control import Control
from clover_gui.download.hub_file import HubFile
from clover_gui.download.hub_settings import HubSettings
from clover_gui.download.manager import Downloaded, DownloadManager, free_bytes
from clover_gui.download.policy import TransferPolicy
from clover_gui.download.progress import Note, Phase, Status
from tests.kit.fake_hub import REPOSITORY, FakeHub

NAME = "tiny-Q4_K_M.gguf"
CHUNK = 1 << 16
SIZE = 20 * CHUNK + 1234

QUICK = TransferPolicy(
    connect_timeout_s=5,
    stall_timeout_s=0.4,
    backoff_start_s=0.01,
    backoff_limit_s=0.05,
    give_up_after_s=3,
    least_tries=2,
    chunk_bytes=CHUNK,
    sync_bytes=4 * CHUNK,
    report_interval_s=0,
    space_poll_s=0.02,
    space_margin_bytes=0,
)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's settings decides a test."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "HF_TOKEN", "HF_ENDPOINT", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def model_bytes(size: int = SIZE, seed: int = 1) -> bytes:
    """Noise that begins as a model does."""
    return b"GGUF" + Random(seed).randbytes(size - 4)


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """The hub's folder with one file."""
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / NAME).write_bytes(model_bytes())
    return folder


@pytest.fixture
def hub(served: Path) -> Iterator[FakeHub]:
    with FakeHub(served) as hub:
        yield hub


@dataclass
class Fetcher:
    """Downloads ``NAME`` and remembers the statuses."""

    hub: FakeHub
    folder: Path
    policy: TransferPolicy = QUICK
    settings: HubSettings | None = None
    free: Callable[[Path], int] = free_bytes
    statuses: list[Status] = field(default_factory=list)
    control: Control = field(default_factory=Control)
    on_status: Callable[[Status], None] = lambda status: None

    @property
    def manager(self) -> DownloadManager:
        settings = self.settings or HubSettings(self.hub.endpoint)
        return DownloadManager(self.folder, settings, self.policy, self.free)

    def find(self) -> HubFile:
        return self.manager.hub.find(REPOSITORY, NAME)

    def fetch(self, source: HubFile | None = None) -> Downloaded:
        return self.manager.fetch(source or self.find(), self.control, self._told)

    def _told(self, status: Status) -> None:
        self.statuses.append(status)
        self.on_status(status)

    @property
    def phases(self) -> list[Phase]:
        """Without repetitions."""
        found: list[Phase] = []
        for status in self.statuses:
            if not found or found[-1] is not status.phase:
                found.append(status.phase)
        return found

    @property
    def notes(self) -> set[Note]:
        return {status.note for status in self.statuses} - {Note.NONE}

    def patient(self, **values: float) -> None:
        self.policy = replace(self.policy, **values)  # type: ignore[arg-type]


@pytest.fixture
def fetcher(hub: FakeHub, tmp_path: Path) -> Fetcher:
    return Fetcher(hub, tmp_path / "models")


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that no system knows, and its key; good for some days."""
    tool = shutil.which("openssl")
    if tool is None:
        pytest.skip("needs the openssl command to make a certificate")
    folder = tmp_path_factory.mktemp("certificate")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    options = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=127.0.0.1"]
    uses = ["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "extendedKeyUsage=serverAuth"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([tool, "req", *options, *uses, *files], check=True, capture_output=True)
    return certificate, key
