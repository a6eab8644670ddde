"""All keys of the window with what they do, for the help sheet; the pages bind them."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QKeySequence

from clover_gui.i18n import _


class Keys:
    """The keys that pages bind, in Qt's portable form."""

    NEW_CHAT = "Ctrl+N"
    SEARCH_CHATS = "Ctrl+Shift+F"
    CHAT_LIST = "Ctrl+Shift+L"
    PREVIOUS_CHAT = "Ctrl+PgUp"
    NEXT_CHAT = "Ctrl+PgDown"
    STOP = "Esc"
    COMPOSER = "Ctrl+L"
    THINKING = "Ctrl+T"
    ATTACH = "Ctrl+Shift+A"
    OPTIONS = "Ctrl+I"
    REGENERATE = "Ctrl+R"
    CONTINUE = "Ctrl+G"
    COPY_ANSWER = "Ctrl+Shift+C"
    DETAILS = "Ctrl+D"
    FIND = "Ctrl+F"
    HELP = "Ctrl+/"
    MODEL = "Ctrl+M"
    MEMORY = "Ctrl+Shift+M"
    OPEN_FILE = "Ctrl+O"
    SETTINGS = "Ctrl+,"
    QUIT = "Ctrl+Q"


@dataclass(frozen=True, slots=True)
class KeyHelp:
    """Keys as a person of this system knows them, and what they do."""

    keys: str
    text: str


def key_help() -> tuple[tuple[str, tuple[KeyHelp, ...]], ...]:
    """Groups with their title, in the language in force."""
    return (
        (
            _("Writing"),
            (
                _help("Return", _("Send the message")),
                _help("Shift+Return", _("Begin a new line")),
                _help("Up", _("In the empty field: change your last message")),
                _help(Keys.STOP, _("Stop the answer, or leave what you are doing")),
                _help(Keys.THINKING, _("Switch thinking on or off")),
                _help(Keys.ATTACH, _("Attach files")),
                _help(Keys.OPTIONS, _("Instructions and settings of this chat")),
                _help(Keys.COMPOSER, _("Go to the text field")),
            ),
        ),
        (
            _("Reading"),
            (
                _help(Keys.FIND, _("Find in this chat")),
                _help(Keys.REGENERATE, _("Answer the last message again")),
                _help(Keys.CONTINUE, _("Go on with an answer that was cut")),
                _help(Keys.COPY_ANSWER, _("Copy the last answer")),
                _help(Keys.DETAILS, _("Details of the last answer")),
                _help("Tab", _("Go to the next button; in a message: copy, answer again, links")),
                _help("Home", _("Go to the beginning of the chat")),
                _help("End", _("Go to its end, and follow the text")),
            ),
        ),
        (
            _("Chats"),
            (
                _help(Keys.NEW_CHAT, _("Begin a new chat")),
                _help(Keys.SEARCH_CHATS, _("Search all chats")),
                _help(Keys.PREVIOUS_CHAT, _("Open the chat above")),
                _help(Keys.NEXT_CHAT, _("Open the chat below")),
                _help(Keys.CHAT_LIST, _("Go to the list of chats")),
                _help("F2", _("In the list: rename the chat")),
                _help("Del", _("In the list: delete the chat")),
                _help("Menu", _("In the list: everything else")),
            ),
        ),
        (
            _("Program"),
            (
                _help(Keys.MODEL, _("Choose a model")),
                _help(Keys.MEMORY, _("Show or close the memory panel")),
                _help(Keys.OPEN_FILE, _("Open a model file")),
                _help(Keys.SETTINGS, _("Settings")),
                _help(Keys.HELP, _("This sheet")),
                _help(Keys.QUIT, _("Save everything and quit")),
            ),
        ),
    )


def native(keys: str) -> str:
    """The keys as they are written on this system."""
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)


def _help(keys: str, text: str) -> KeyHelp:
    return KeyHelp(native(keys), text)
