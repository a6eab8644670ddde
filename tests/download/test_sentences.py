"""Every way in which a download fails, and every moment of one, has a sentence; every failure a next step."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clover_gui import errors, i18n
from clover_gui.download.progress import Note, Phase, Status
from clover_gui.exit_codes import ExitCode, exit_code_for
from clover_gui.explain import explain
from clover_gui.explain.download_words import download_note_text, status_text

HOST = "hub.example"
FAILURES = [
    errors.HubUnreachable(HOST, "name"),
    errors.HubUnreachable(HOST, "refused"),
    errors.HubUnreachable(HOST, "silent"),
    errors.HubUnreachable(HOST, "broken"),
    errors.HubUnreachable(HOST, "offline-mode"),
    errors.HubCertificateRefused("self-signed", HOST),
    errors.ProxyFailed("proxy.example", "login"),
    errors.ProxyFailed("proxy.example", "refused"),
    errors.ProxyFailed("proxy.example", "unsupported"),
    errors.NetworkSettingWrong("proxy"),
    errors.NetworkSettingWrong("endpoint", "ftp://foo"),
    errors.HubRefused(HOST, 401, "a/b", False, False),
    errors.HubRefused(HOST, 401, "a/b", False, True),
    errors.HubRefused(HOST, 403, "a/b", True, False),
    errors.HubNotFound(HOST, "repository", "a/b"),
    errors.HubNotFound(HOST, "file", "m.gguf"),
    errors.HubNotFound(HOST, "revision", "v1"),
    errors.HubBusy(HOST, 90.0),
    errors.HubBusy(HOST, None),
    errors.HubFailed(HOST, 503),
    errors.HubFailed(HOST, 416),
    errors.WebPageReceived(HOST, "Sign in"),
    errors.WebPageReceived(HOST),
    errors.NotAModelReceived(HOST, "m.gguf"),
    errors.ModelChoiceFailed("a/b", "Q4", "several", ("x-Q4_0.gguf", "x-Q4_1.gguf")),
    errors.ModelChoiceFailed("a/b", "Q4", "none", ("x-Q8_0.gguf",)),
    errors.ModelChoiceFailed("a/b", "Q4", "none", ()),
    errors.ModelChoiceFailed("a/b", "BF16", "split", ("x-BF16-00001-of-00002.gguf",)),
    errors.ChecksumUnknown(HOST, "m.gguf"),
    errors.RemoteFileChanged("10 bytes in place of 9", HOST),
    errors.WrongSize(HOST, 19_600_000_000, 19_000_000_000),
    errors.WrongHash(HOST, "ab" * 32, "cd" * 32, 1 << 26),
    errors.NotEnoughSpace(Path("models"), 20 << 30, 5 << 30),
    errors.DestinationNotWritable(Path("models"), "Permission denied"),
    errors.DownloadInUse(Path("abc.part")),
    errors.DownloadStopped(3 << 30),
]
STATUSES = {
    Phase.READING_BACK: Status(Phase.READING_BACK, 1 << 30, 3 << 30),
    Phase.DOWNLOADING: Status(Phase.DOWNLOADING, 1 << 30, 3 << 30, 30 << 20, 68.0),
    Phase.NO_SPACE: Status(Phase.NO_SPACE, 1 << 30, 3 << 30, missing_bytes=2 << 30),
    Phase.RETRYING: Status(Phase.RETRYING, 1, 2, error=errors.HubUnreachable(HOST, "silent"), wait_s=4.0),
    Phase.FAILED: Status(Phase.FAILED, 1, 2, error=errors.HubFailed(HOST, 503)),
}


@pytest.fixture(autouse=True)
def _english() -> None:
    i18n.set_language("en")


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
def test_a_failure_has_a_sentence_and_a_next_step(error: errors.DownloadError) -> None:
    text = explain(error)
    print(f"\n{text.title}: {text.sentence} -> {text.next_step}")
    for part in (text.title, text.sentence, text.next_step):
        assert part
        assert not re.search(r"[{}]", part)
    assert text.title != explain(errors.DownloadError("x")).title
    assert exit_code_for(error) is not ExitCode.UNEXPECTED


def test_all_classes_are_here() -> None:
    assert {type(error) for error in FAILURES} == set(errors.DownloadError.__subclasses__())


@pytest.mark.parametrize("phase", list(Phase))
def test_a_moment_has_a_line(phase: Phase) -> None:
    text = status_text(STATUSES.get(phase, Status(phase, 1 << 30, 3 << 30)))
    print(f"\n{text}")
    assert text
    assert not re.search(r"[{}]", text)


def test_numbers_of_a_running_download() -> None:
    assert (
        status_text(STATUSES[Phase.DOWNLOADING]) == "33 %, 1.1 GB of 3.2 GB, 31 MB per second, 1 min 8 s left"
    )
    assert "2.1 GB" in status_text(STATUSES[Phase.NO_SPACE])


def test_notes_have_sentences() -> None:
    assert download_note_text(Note.NONE) == ""
    assert all(download_note_text(note) for note in Note if note is not Note.NONE)


def test_names_from_elsewhere_are_capped() -> None:
    text = explain(errors.WebPageReceived("h" * 5000, "t" * 5000 + "\x1b[2J\n"))
    assert len(text.sentence) < 400
    assert "\x1b" not in text.sentence
