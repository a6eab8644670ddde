"""The person's access token for models that are only given to some people, kept in a file of its own.

The file can be read by this person only, and it names the server for which the token is meant: it is sent to
no other. Nothing here logs, and no text that is made of these values has the token in it.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from clover_gui.download.json_file import read_json, replace_file

LONGEST = 500


@dataclass(frozen=True, slots=True)
class AccessToken:
    """``endpoint`` is the address of the server, as in ``HubSettings``."""

    endpoint: str
    token: str = field(repr=False)


def is_possible(token: str) -> bool:
    """Whether this can be sent as a token at all: visible ASCII, no spaces."""
    return 0 < len(token) <= LONGEST and all("!" <= letter <= "~" for letter in token)


def load_token(path: Path) -> AccessToken | None:
    """The token that was kept; None when there is none, or none that can be one. Never raises."""
    value = read_json(path)
    if value is None:
        return None
    endpoint, token = value.get("endpoint"), value.get("token")
    if not isinstance(endpoint, str) or not isinstance(token, str) or not is_possible(token):
        return None
    return AccessToken(endpoint, token)


def save_token(path: Path, token: AccessToken) -> None:
    """Keep it. The file is never readable for others, not even for a moment.

    Raises:
        OSError: it could not be written; what was kept before is kept still.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".new")  # mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"endpoint": token.endpoint, "token": token.token}, file)
            file.flush()
            os.fsync(file.fileno())
        replace_file(Path(temporary), path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def forget_token(path: Path) -> None:
    """Remove it. Raises OSError when it cannot be removed."""
    path.unlink(missing_ok=True)
