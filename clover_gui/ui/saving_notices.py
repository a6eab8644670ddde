"""What the notice bar says of the store of the chats: how it was found, and whether it can be written.

Must not know what is in the chats.
"""

from __future__ import annotations

from pathlib import Path

from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.presets import PresetBook
from clover_gui.errors import CloverError
from clover_gui.explain import explain, store_text
from clover_gui.explain.sampling_words import presets_text
from clover_gui.i18n import _, capped
from clover_gui.ui.chat.words import SAVING
from clover_gui.ui.widgets.notice_bar import NoticeBar, NoticeKind


def watch_saving(store: AsyncChatStore, notice: NoticeBar) -> None:
    """Say when chats are not saved and when they are again, not only at the next start."""

    def failed(error: CloverError) -> None:
        again = _("It is tried again by itself.")
        text = f"{explain(error).text} {again}"
        notice.show_notice(text, NoticeKind.ERROR, about=SAVING)

    def put_back(path: Path) -> None:
        text = _(
            "The folder with your chats was removed while the program ran. It was made again, and all"
            " chats are in it: {folder}"
        ).format(folder=capped(str(path.parent), 120))
        notice.show_notice(text, NoticeKind.WARNING)

    usual = store.opened.store.path

    def kept_apart(path: Path) -> None:
        text = _(
            "Another file has taken the place of your chats while the program ran. It was not touched; your"
            " chats, and what is said from now on, are kept in {file} beside it. The next start opens the"
            " other file. To have these chats again, close the program and give {name} the name {usual}."
        ).format(
            file=capped(str(path), 160),
            name=capped(path.name),
            usual=capped(usual.name),
        )
        notice.show_notice(text, NoticeKind.ERROR)

    store.kept_apart = kept_apart
    store.save_failed = failed
    store.put_back = put_back
    store.saved_again = lambda: notice.show_notice(_("Everything is saved again."), about=SAVING)


def say_how_opened(store: AsyncChatStore, presets: PresetBook, notice: NoticeBar) -> None:
    """What of the chats or presets could not be opened as it was kept; mostly there is nothing to say."""
    opened = store.opened
    texts = (
        store_text(
            opened.condition,
            opened.reason,
            opened.set_aside,
            chats=opened.salvaged.chats,
            messages=opened.salvaged.messages,
        ),
        presets_text(presets.set_aside),
    )
    if text := " ".join(filter(None, texts)):
        notice.show_notice(text, NoticeKind.WARNING)
