"""The exit codes of the program, for scripts. Part of its interface: a number never changes its meaning."""

from __future__ import annotations

from enum import IntEnum

from clover_gui.engine.protocol import (
    FAIL_ARCHITECTURE,
    FAIL_CORRUPT,
    FAIL_MEMORY,
    FAIL_MISSING,
    FAIL_TRUNCATED,
)
from clover_gui.errors import (
    ContextFull,
    DataFolderError,
    DestinationNotWritable,
    DoesNotFitError,
    DownloadError,
    DownloadStopped,
    EngineError,
    FlavourError,
    ModelFileError,
    ModelLoadFailed,
    NotEnoughSpace,
    RepairError,
)
from clover_gui.i18n import _

_FAULTS_OF_THE_FILE = (FAIL_MISSING, FAIL_ARCHITECTURE, FAIL_TRUNCATED, FAIL_CORRUPT)


class ExitCode(IntEnum):
    OK = 0
    UNEXPECTED = 1  # an error that should not happen
    USAGE = 2  # wrong arguments (the number that argparse uses)
    NO_DISPLAY = 3  # the window has no screen to open on, or a system library is missing
    MODEL_FILE = 4  # missing, damaged or unknown model file
    ENGINE = 5  # the engine is missing, does not start, or failed
    DOES_NOT_FIT = 6  # too little memory for the model
    DATA_FOLDER = 7  # the data folder cannot be used
    CONTEXT_FULL = 8  # the chat does not fit into the context
    DOWNLOAD = 9  # the model could not be brought from the hub
    NO_ROOM = 10  # too little disk space for a download, or no right to write there
    INTERRUPTED = 130  # Ctrl+C
    BROKEN_PIPE = 141  # whoever read our output has closed it


def exit_code_for(error: BaseException) -> ExitCode:
    """The code that tells this failure."""
    if isinstance(error, ModelLoadFailed):
        if error.kind == FAIL_MEMORY:
            return ExitCode.DOES_NOT_FIT
        return ExitCode.MODEL_FILE if error.kind in _FAULTS_OF_THE_FILE else ExitCode.ENGINE
    for kind, code in (
        ((ModelFileError, RepairError), ExitCode.MODEL_FILE),
        (DoesNotFitError, ExitCode.DOES_NOT_FIT),
        (ContextFull, ExitCode.CONTEXT_FULL),
        ((EngineError, FlavourError), ExitCode.ENGINE),
        (DataFolderError, ExitCode.DATA_FOLDER),
        ((NotEnoughSpace, DestinationNotWritable), ExitCode.NO_ROOM),
        (DownloadStopped, ExitCode.INTERRUPTED),
        (DownloadError, ExitCode.DOWNLOAD),
        (KeyboardInterrupt, ExitCode.INTERRUPTED),
        (BrokenPipeError, ExitCode.BROKEN_PIPE),
    ):
        if isinstance(error, kind):
            return code
    return ExitCode.UNEXPECTED


def exit_codes_text() -> str:
    """The list for --help."""
    texts = {
        ExitCode.OK: _("everything went well"),
        ExitCode.UNEXPECTED: _("an error that should not happen"),
        ExitCode.USAGE: _("wrong arguments"),
        ExitCode.NO_DISPLAY: _("no screen for the window"),
        ExitCode.MODEL_FILE: _("the model file is missing, damaged or unknown"),
        ExitCode.ENGINE: _("the engine is missing or failed"),
        ExitCode.DOES_NOT_FIT: _("too little memory for the model"),
        ExitCode.DATA_FOLDER: _("the data folder cannot be used"),
        ExitCode.CONTEXT_FULL: _("the chat is too long for the context"),
        ExitCode.DOWNLOAD: _("the model could not be downloaded"),
        ExitCode.NO_ROOM: _("no room or no right to write on the disk"),
        ExitCode.INTERRUPTED: _("interrupted with Ctrl+C"),
        ExitCode.BROKEN_PIPE: _("the reader of the output has closed it"),
    }
    return "\n".join([_("Exit codes:"), *(f"  {code.value:>3}  {text}" for code, text in texts.items())])
