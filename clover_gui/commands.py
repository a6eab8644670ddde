"""The commands of the terminal front end by name. Each is a module of ``clover_gui/cli`` of that name."""

from __future__ import annotations

TERMINAL_COMMANDS = ("doctor", "plan", "chat", "fetch", "patch", "engine")
