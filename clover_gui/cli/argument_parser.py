"""The parser of both command lines, which says mistakes in the person's language.

``argparse`` words them in English and has no other way to change that; what is not known here (a later
version may say things differently) stays as it is. Must not know: which options there are.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from typing import NoReturn

from clover_gui.i18n import _


class Formatter(argparse.HelpFormatter):
    """Says "Usage" in the person's language."""

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[argparse._MutuallyExclusiveGroup],
        prefix: str | None = None,
    ) -> None:
        super().add_usage(usage, actions, groups, _("Usage: ") if prefix is None else prefix)


class RawFormatter(Formatter, argparse.RawDescriptionHelpFormatter):
    """Keeps the line breaks of descriptions, too."""


class ArgumentParser(argparse.ArgumentParser):
    """As ``argparse`` has it, but for the words. Its subparsers are of this class, too."""

    def error(self, message: str) -> NoReturn:
        """Say how the command is used and what is wrong, and leave the program with 2."""
        usage = self.format_usage()
        text = _("Error: {message}").format(message=mistake_text(message))
        self.exit(2, f"{usage}{self.prog}: {text}\n")


def mistake_text(message: str) -> str:
    """What ``argparse`` says, in the language in force."""
    argument, message = _split(message)
    for pattern, text in _patterns():
        if match := re.fullmatch(pattern, message, re.DOTALL):
            message = text.format(**match.groupdict())
            break
    return f"{argument}: {message}" if argument else message


def _split(message: str) -> tuple[str, str]:
    """The argument that the message is about, if it begins with one, and the rest."""
    match = re.fullmatch(r"argument (?P<name>[^:]+): (?P<rest>.+)", message, re.DOTALL)
    return (match["name"], match["rest"]) if match else ("", message)


def _patterns() -> tuple[tuple[str, str], ...]:
    return (
        (r"the following arguments are required: (?P<names>.+)", _("these are missing: {names}")),
        (r"unrecognized arguments: (?P<names>.+)", _("these are not known: {names}")),
        (r"expected one argument", _("it needs a value")),
        (r"expected at least one argument", _("it needs at least one value")),
        (r"expected at most one argument", _("it takes one value at most")),
        (r"expected (?P<count>\d+) arguments?", _("it needs {count} values")),
        (r"invalid (?:int|float) value: (?P<value>.+)", _("{value} is no number")),
        (
            r"invalid choice: (?P<value>.+) \(choose from (?P<choices>.+)\)",
            _("{value} is none of these: {choices}"),
        ),
        (r"invalid \S+ value: (?P<value>.+)", _("{value} is not possible here")),
        (r"not allowed with argument (?P<other>.+)", _("it cannot go together with {other}")),
        (r"one of the arguments (?P<names>.+) is required", _("one of these is needed: {names}")),
        (
            r"ambiguous option: (?P<option>.+) could match (?P<matches>.+)",
            _("{option} may stand for {matches}"),
        ),
        (r"ignored explicit argument (?P<value>.+)", _("it takes no value, but there is {value}")),
    )
