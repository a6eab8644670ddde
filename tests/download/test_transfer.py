"""A download against every fault of a server: the right file, or one clear error and nothing wrong kept."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from clover_gui import errors
from clover_gui.download.hub_settings import HubSettings
from clover_gui.download.progress import Note, Phase, Status
from clover_gui.download.receipt import is_verified
from tests.download.conftest import CHUNK, NAME, SIZE, Fetcher
from tests.kit.fake_hub import FakeHub


def assert_right(fetcher: Fetcher, path: Path) -> None:
    """The published bytes, a receipt, and nothing else in the folder."""
    assert path.read_bytes() == (fetcher.hub.folder / NAME).read_bytes()
    assert is_verified(path)
    assert sorted(path.parent.iterdir()) == [path, path.with_name(path.name + ".receipt.json")]


def part_of(fetcher: Fetcher) -> list[Path]:
    return sorted(fetcher.folder.glob("*.part"))


def test_a_whole_file_with_a_receipt(fetcher: Fetcher) -> None:
    source = fetcher.find()
    downloaded = fetcher.fetch(source)
    assert_right(fetcher, downloaded.path)
    receipt = downloaded.receipt
    assert (receipt.repository, receipt.revision, receipt.sha256) == (
        source.repository,
        source.revision,
        source.sha256,
    )
    assert receipt.repair is None
    assert fetcher.phases == [Phase.WAITING, Phase.DOWNLOADING, Phase.DONE]
    last = fetcher.statuses[-2]
    assert last.done_bytes == last.total_bytes == SIZE
    assert [asked.range for asked in fetcher.hub.file_requests()] == [""]


def test_a_second_time_nothing_is_fetched(fetcher: Fetcher) -> None:
    first = fetcher.fetch()
    again = fetcher.fetch()
    assert again == first
    assert fetcher.notes == {Note.ALREADY_THERE}
    assert len(fetcher.hub.file_requests()) == 1


@pytest.mark.parametrize("kind", ["reset", "close", "stall"])
def test_a_broken_connection_is_gone_on_with(fetcher: Fetcher, kind: str) -> None:
    fetcher.hub.order(kind, after=5 * CHUNK + 77)
    assert_right(fetcher, fetcher.fetch().path)
    assert Phase.RETRYING in fetcher.phases
    first, second = fetcher.hub.file_requests()
    assert 0 < second.first <= 5 * CHUNK + 77
    if kind != "reset":  # a reset throws away what the receiver had not read yet
        assert second.first == 5 * CHUNK + 77
        assert first.sent[0] + second.sent[0] == SIZE


def test_many_breaks_in_a_row(fetcher: Fetcher) -> None:
    fetcher.hub.order("close", after=2 * CHUNK, times=9)
    assert_right(fetcher, fetcher.fetch().path)
    assert fetcher.hub.sent_bytes() == SIZE
    assert len(fetcher.hub.file_requests()) == 10


def test_a_flipped_bit_where_a_connection_broke(fetcher: Fetcher) -> None:
    """The chunk in which it broke is doubted first: little is fetched a second time."""
    fetcher.hub.order("close", after=7 * CHUNK + 10)
    fetcher.hub.order("flip", after=7 * CHUNK + 5)
    assert_right(fetcher, fetcher.fetch().path)
    assert Note.WRONG_BYTES in fetcher.notes
    assert fetcher.hub.sent_bytes() - SIZE <= 2 * CHUNK


def test_a_flipped_bit_anywhere(fetcher: Fetcher) -> None:
    """Nothing tells where it is: chunks are compared with a second copy until the whole is right."""
    fetcher.hub.order("flip", after=4 * CHUNK + 5)
    assert_right(fetcher, fetcher.fetch().path)
    assert fetcher.phases[-3:] == [Phase.MENDING, Phase.VERIFYING, Phase.DONE]
    again = [asked.first for asked in fetcher.hub.file_requests()[1:]]
    assert again == [index * CHUNK for index in range(5)]


def test_several_flipped_bits(fetcher: Fetcher) -> None:
    for offset in (3 * CHUNK + 1, 9 * CHUNK + 1, SIZE - 1):
        fetcher.hub.order("flip", after=offset)
    assert_right(fetcher, fetcher.fetch().path)
    assert Note.WRONG_BYTES in fetcher.notes
    assert fetcher.hub.sent_bytes() == 2 * SIZE


def test_wrong_bytes_for_ever(fetcher: Fetcher) -> None:
    fetcher.hub.order("flip", after=4 * CHUNK, times=1000)
    with pytest.raises(errors.WrongHash) as caught:
        fetcher.fetch()
    assert caught.value.fetched_again_bytes == SIZE
    assert caught.value.expected == fetcher.find().sha256
    assert not list(fetcher.folder.iterdir())
    assert fetcher.statuses[-1].error is caught.value


@pytest.mark.parametrize("kind", ["page", "login"])
def test_a_login_page_is_never_kept(fetcher: Fetcher, kind: str) -> None:
    source = fetcher.find()
    fetcher.hub.order(kind)
    with pytest.raises(errors.WebPageReceived) as caught:
        fetcher.fetch(source)
    assert caught.value.title == "Guest network – sign in"
    assert caught.value.host == f"127.0.0.1:{fetcher.hub.port}"
    assert [path.stat().st_size for path in part_of(fetcher)] == [0]
    assert not (fetcher.folder / NAME).exists()


@pytest.mark.parametrize("kind", ["page", "login"])
def test_a_login_page_in_the_middle_costs_nothing(fetcher: Fetcher, kind: str) -> None:
    source = fetcher.find()
    fetcher.hub.order("close", after=5 * CHUNK)

    def intercept(status: Status) -> None:
        if status.phase is Phase.RETRYING:
            fetcher.hub.order(kind)

    fetcher.on_status = intercept
    with pytest.raises(errors.WebPageReceived):
        fetcher.fetch(source)
    assert [path.stat().st_size for path in part_of(fetcher)] == [5 * CHUNK]
    fetcher.on_status = lambda status: None
    fetcher.hub.faults.clear()
    assert_right(fetcher, fetcher.fetch(source).path)
    assert fetcher.hub.file_requests()[-1].first == 5 * CHUNK


def test_something_else_than_a_model(fetcher: Fetcher) -> None:
    (fetcher.hub.folder / NAME).write_bytes(b"PK\x03\x04" + b"\0" * 1000)
    with pytest.raises(errors.NotAModelReceived):
        fetcher.fetch()
    assert [path.stat().st_size for path in part_of(fetcher)] == [0]


def test_a_server_that_ignores_ranges(fetcher: Fetcher) -> None:
    """What is here stays; the same bytes are passed over."""
    fetcher.hub.order("close", after=5 * CHUNK)
    fetcher.hub.order("ignore-range")
    assert_right(fetcher, fetcher.fetch().path)
    assert Note.RANGE_IGNORED in fetcher.notes
    assert fetcher.hub.sent_bytes() == SIZE + 5 * CHUNK


def test_416_begins_again_once(fetcher: Fetcher) -> None:
    fetcher.hub.order("close", after=5 * CHUNK)
    armed = iter([True])

    def arm(status: Status) -> None:
        if fetcher.statuses[-1].phase is Phase.RETRYING and next(armed, False):
            fetcher.hub.order("status", value=416)

    fetcher.on_status = arm
    assert_right(fetcher, fetcher.fetch().path)
    assert Note.STARTED_AGAIN in fetcher.notes
    assert [asked.first for asked in fetcher.hub.file_requests()] == [0, 5 * CHUNK, 0]


def test_416_for_ever(fetcher: Fetcher) -> None:
    source = fetcher.find()
    fetcher.hub.order("status", value=416, times=10)
    with pytest.raises(errors.HubFailed) as caught:
        fetcher.fetch(source)
    assert caught.value.status == 416


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_passes_is_waited_for(fetcher: Fetcher, status: int) -> None:
    source = fetcher.find()
    fetcher.hub.order("status", value=status, times=3, retry_after="0.2")
    assert_right(fetcher, fetcher.fetch(source).path)
    waits = [told for told in fetcher.statuses if told.phase is Phase.RETRYING]
    assert len(waits) == 3
    assert all(told.error is not None for told in waits)
    if status == 429:
        assert all(told.wait_s >= 0.2 for told in waits)


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (401, "", errors.HubRefused),
        (403, "GatedRepo", errors.HubRefused),
        (404, "EntryNotFound", errors.HubNotFound),
        (407, "", errors.ProxyFailed),
        (410, "", errors.HubFailed),
    ],
)
def test_what_does_not_pass_ends_at_once(
    fetcher: Fetcher, status: int, code: str, expected: type[errors.DownloadError]
) -> None:
    source = fetcher.find()
    fetcher.hub.order("status", value=status, error_code=code, times=100)
    with pytest.raises(expected) as caught:
        fetcher.fetch(source)
    assert len(fetcher.hub.file_requests()) == 1
    assert fetcher.phases[-1] is Phase.FAILED
    if isinstance(caught.value, errors.HubNotFound):
        assert (caught.value.what, caught.value.name) == ("file", NAME)


def test_a_server_that_never_recovers_is_given_up(fetcher: Fetcher) -> None:
    source = fetcher.find()
    fetcher.patient(give_up_after_s=0.3)
    fetcher.hub.order("status", value=503, times=1000)
    with pytest.raises(errors.HubFailed):
        fetcher.fetch(source)
    assert len(fetcher.hub.file_requests()) > 1


def test_more_promised_than_there_is(fetcher: Fetcher) -> None:
    """The listing is too long by 1000 bytes, and so is every answer's head: it never becomes whole."""
    fetcher.hub.listing_extra = 1000
    fetcher.hub.order("long", after=1000, times=1000)
    with pytest.raises(errors.WrongSize) as caught:
        fetcher.fetch()
    assert (caught.value.expected_bytes, caught.value.received_bytes) == (SIZE + 1000, SIZE)
    assert [path.stat().st_size for path in part_of(fetcher)] == [SIZE]


def test_an_answer_of_another_length(fetcher: Fetcher) -> None:
    source = fetcher.find()
    fetcher.hub.order("long", after=1000, times=1000)
    with pytest.raises(errors.RemoteFileChanged):
        fetcher.fetch(source)
    assert [path.stat().st_size for path in part_of(fetcher)] == [0]


def test_compressed_or_endless_answers(fetcher: Fetcher) -> None:
    source = fetcher.find()
    for kind in ("gzip", "loop"):
        fetcher.hub.order(kind, times=100)
        with pytest.raises(errors.HubFailed):
            fetcher.fetch(source)
        fetcher.hub.faults.clear()


def test_the_file_is_replaced_at_the_hub_meanwhile(fetcher: Fetcher) -> None:
    """Half is here when another file gets the name: the new one is fetched, and that is said."""
    source = fetcher.find()
    fetcher.hub.order("close", after=5 * CHUNK)
    new = b"GGUF" + os.urandom(3 * CHUNK)

    def replace(status: Status) -> None:
        if fetcher.statuses[-1].phase is Phase.RETRYING:
            (fetcher.hub.folder / NAME).write_bytes(new)

    fetcher.on_status = replace
    downloaded = fetcher.fetch(source)
    assert_right(fetcher, downloaded.path)
    assert downloaded.receipt.sha256 == hashlib.sha256(new).hexdigest()
    assert Note.CHANGED_ON_HUB in fetcher.notes


def test_the_token_does_not_follow_to_another_host(fetcher: Fetcher) -> None:
    fetcher.hub.token = "hf_secret"
    fetcher.settings = HubSettings(fetcher.hub.endpoint, token="hf_secret")
    with FakeHub(fetcher.hub.folder) as cdn:
        fetcher.hub.cdn = cdn
        cdn.order("close", after=5 * CHUNK)
        assert_right(fetcher, fetcher.fetch().path)
        assert {asked.authorization for asked in fetcher.hub.log} == {"Bearer hf_secret"}
        assert [asked.authorization for asked in cdn.log] == ["", ""]
        assert [asked.first for asked in cdn.log] == [0, 5 * CHUNK]


def test_a_refused_token(fetcher: Fetcher) -> None:
    source = fetcher.find()
    fetcher.hub.token = "hf_right"
    fetcher.settings = HubSettings(fetcher.hub.endpoint, token="hf_wrong")
    with pytest.raises(errors.HubRefused) as caught:
        fetcher.fetch(source)
    assert caught.value.token_sent
    assert "hf_wrong" not in str(caught.value)


def test_a_private_certificate(fetcher: Fetcher, certificate: tuple[Path, Path], tmp_path: Path) -> None:
    with FakeHub(fetcher.hub.folder, certificate) as hub:
        trusting = Fetcher(
            hub, tmp_path / "secure", settings=HubSettings(hub.endpoint, certificates=certificate[0])
        )
        source = trusting.find()
        plain = Fetcher(hub, tmp_path / "refused")
        with pytest.raises(errors.HubCertificateRefused):
            plain.fetch(source)
        hub.order("close", after=5 * CHUNK)
        assert_right(trusting, trusting.fetch(source).path)


def test_from_https_there_is_no_way_to_http(
    fetcher: Fetcher, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    with FakeHub(fetcher.hub.folder, certificate) as hub:
        hub.cdn = fetcher.hub
        trusting = Fetcher(
            hub, tmp_path / "secure", settings=HubSettings(hub.endpoint, certificates=certificate[0])
        )
        with pytest.raises(errors.HubFailed):
            trusting.fetch()
        assert not fetcher.hub.log


def test_through_a_proxy(fetcher: Fetcher) -> None:
    proxy = f"http://me:secret@127.0.0.1:{fetcher.hub.port}"
    fetcher.settings = HubSettings("http://models.invalid", proxy=proxy)
    assert_right(fetcher, fetcher.fetch().path)
    assert all(asked.path.startswith("http://models.invalid/") for asked in fetcher.hub.log)
    assert all(asked.proxy_authorization for asked in fetcher.hub.log)


def test_a_proxy_that_refuses_tunnels(fetcher: Fetcher) -> None:
    source = fetcher.find()
    proxy = f"http://127.0.0.1:{fetcher.hub.port}"
    fetcher.settings = HubSettings("https://models.invalid", proxy=proxy)
    secure = Fetcher(fetcher.hub, fetcher.folder, settings=fetcher.settings)
    moved = type(source)(
        "https://models.invalid", source.repository, source.revision, NAME, source.size_bytes, source.sha256
    )
    with pytest.raises(errors.ProxyFailed) as caught:
        secure.fetch(moved)
    assert caught.value.host == "127.0.0.1"


def test_a_kind_of_proxy_that_is_not_supported(fetcher: Fetcher) -> None:
    source = fetcher.find()
    fetcher.settings = HubSettings(fetcher.hub.endpoint, proxy="socks5://127.0.0.1:9")
    with pytest.raises(errors.ProxyFailed) as caught:
        fetcher.fetch(source)
    assert caught.value.kind == "unsupported"


def test_no_symbolic_links_are_needed(fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(1314, "A required privilege is not held by the client")

    monkeypatch.setattr(os, "symlink", refuse)
    assert_right(fetcher, fetcher.fetch().path)


def test_a_folder_with_any_letters(fetcher: Fetcher, tmp_path: Path) -> None:
    fetcher.folder = tmp_path / "Modèle für 模型 🍀"
    assert_right(fetcher, fetcher.fetch().path)


def test_what_the_model_is_can_be_asked_before(fetcher: Fetcher, tiny_gguf: Path) -> None:
    (fetcher.hub.folder / NAME).write_bytes(tiny_gguf.read_bytes())
    assert fetcher.manager.architecture(fetcher.find()) == "qwen35moe"
    assert fetcher.hub.sent_bytes() <= 1 << 16
    assert not fetcher.folder.exists()
