"""A virtual screen (Xvfb) for the time of a block, where a machine has none."""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from installers.events import SetUpError

SIZE = "1280x860x24"
_START_TIMEOUT_S = 20


@contextmanager
def virtual_screen() -> Iterator[str]:
    """Start Xvfb on a free display and end it afterwards; gives the display's name, for example ":3".

    Raises:
        SetUpError: it did not start.
    """
    read_end, write_end = os.pipe()
    try:
        server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write_end), "-screen", "0", SIZE, "-nolisten", "tcp"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(write_end,),
        )
    except OSError as error:
        raise SetUpError(f"The virtual screen (Xvfb) could not be started: {error}.") from error
    finally:
        os.close(write_end)
    try:
        with os.fdopen(read_end, encoding="ascii", errors="replace") as reader:
            ready, _, _ = select.select([reader], [], [], _START_TIMEOUT_S)
            number = reader.readline().strip() if ready else ""
        if not number:
            raise SetUpError("The virtual screen (Xvfb) did not start.", "Try it by hand: Xvfb :9")
        yield f":{number}"
    finally:
        server.terminate()
        try:
            server.wait(timeout=5)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
