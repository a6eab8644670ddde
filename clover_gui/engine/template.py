"""The chat template of a model file: messages to prompt text, in a sandbox.

A template comes out of a downloaded file and is hostile until shown otherwise: no attributes with
underscores, no huge ranges, products or paddings, a limit for the text and one for the time. Knows
nothing of tokens and of the engine.
"""

from __future__ import annotations

import ctypes
import datetime
import json
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jinja2
import jinja2.ext
import jinja2.sandbox

from clover_gui.engine.protocol import PromptMessage

Value = Any  # whatever a template works with

OUTPUT_LIMIT = 16_000_000  # characters
TIME_LIMIT_S = 3.0
_REPEAT_LIMIT = 1_000_000
# A noncharacter that stands for the newest message's words.
_PROBE = "\ufdd1"
# A message that no template has among its own words.
_TRIAL = "Trial message 7f3a."


class TemplateError(Exception):
    """The template cannot be read, raised an error, or ran over a limit."""


class _TimeUp(BaseException):
    """Raised into the rendering thread from outside; no template can catch it."""


class _Sandbox(jinja2.sandbox.ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset(["*", "**", "%"])

    def wrap_str_format(self, value: Value) -> None:
        """No formats at all: a width makes a text of any size, and no chat needs them."""

    def is_safe_attribute(self, obj: Value, attr: str, value: Value) -> bool:
        return attr not in ("format", "format_map") and super().is_safe_attribute(obj, attr, value)

    def call_binop(self, context: jinja2.runtime.Context, operator: str, left: Value, right: Value) -> Value:
        if operator == "*":
            for text, times in ((left, right), (right, left)):
                if isinstance(text, (str, bytes, list, tuple)) and isinstance(times, int):
                    _bounded(len(text) * times)
        elif operator == "**" and not (abs(left) < 1e6 and abs(right) < 64):
            raise jinja2.exceptions.SecurityError("power too large")
        elif operator == "%" and isinstance(left, str) and any(c.isdigit() or c == "*" for c in left):
            raise jinja2.exceptions.SecurityError("formats with a width are not allowed")
        return super().call_binop(context, operator, left, right)

    def call(self, context: jinja2.runtime.Context, obj: Value, /, *args: Value, **kwargs: Value) -> Value:
        if getattr(obj, "__name__", "") in ("ljust", "rjust", "center", "zfill", "expandtabs", "replace"):
            for argument in args:
                if isinstance(argument, int):
                    _bounded(argument)
        return super().call(context, obj, *args, **kwargs)


def _bounded(size: int) -> None:
    if size > _REPEAT_LIMIT:
        raise jinja2.exceptions.SecurityError("text too long")


@dataclass(frozen=True, slots=True)
class Rendered:
    """Prompt text with and without what asks the model to begin its answer.

    ``history`` is the beginning of ``prompt`` that stays the same in later turns, as far as the template
    tells; None where it cannot be told apart. ``before_newest`` is the beginning up to the words of the
    newest message, "" where that cannot be told.
    """

    prompt: str
    history: str | None
    before_newest: str = ""


class ChatTemplate:
    """A compiled template. ``begin`` and ``end`` are the texts of the vocabulary's own tokens."""

    def __init__(
        self, source: str, *, begin: str = "", end: str = "", time_limit_s: float = TIME_LIMIT_S
    ) -> None:
        """Raises:
        TemplateError: the source is no template.
        """
        self.source = source
        self._time_limit_s = time_limit_s
        environment = _Sandbox(
            trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols], autoescape=False
        )
        environment.filters["tojson"] = _to_json
        for name in ("center", "indent", "wordwrap", "format"):  # paddings of any size, needed by no chat
            environment.filters.pop(name, None)
        environment.globals.update(
            raise_exception=_raise_exception, strftime_now=_strftime_now, bos_token=begin, eos_token=end
        )
        try:
            with _Deadline(time_limit_s):
                self._template = environment.from_string(source)
        except _TimeUp:
            raise TemplateError("reading the template took too long") from None
        except (jinja2.TemplateError, RecursionError, MemoryError, ValueError, SyntaxError) as error:
            raise TemplateError(_reason(error)) from error

    def render(self, messages: Sequence[PromptMessage], thinking: bool | None = None) -> Rendered:
        """The prompt for an answer to the last message. ``thinking`` None leaves the template's default.

        Raises:
            TemplateError: with the template's own words where it raised an error.
        """
        prompt = self._render(messages, thinking, True)
        try:
            history: str | None = self._render(messages, thinking, False)
        except TemplateError:
            history = None
        if history is None or not messages or not prompt.startswith(history):
            return Rendered(prompt, None)
        return Rendered(prompt, history, self._before_newest(messages, thinking, history))

    def _before_newest(self, messages: Sequence[PromptMessage], thinking: bool | None, history: str) -> str:
        probe = [*messages[:-1], replace(messages[-1], content=_PROBE)]
        try:
            before, found, _ = self._render(probe, thinking, False).rpartition(_PROBE)
        except TemplateError:
            return ""
        return before if found and history.startswith(before) else ""

    def check(self) -> None:
        """Render a first message.

        Raises:
            TemplateError: that fails, or the message is not in the prompt.
        """
        if _TRIAL not in self._render((PromptMessage("user", _TRIAL),), None, True):
            raise TemplateError("the template leaves the message out")

    def can_switch_thinking(self) -> bool:
        """The switch changes what is rendered."""
        messages = (PromptMessage("user", "Hello"),)
        try:
            return self._render(messages, True, True) != self._render(messages, False, True)
        except TemplateError:
            return False

    def _render(self, messages: Sequence[PromptMessage], thinking: bool | None, ask: bool) -> str:
        values: dict[str, Any] = {
            "messages": [{"role": m.role, "content": m.content} for m in messages],
            "add_generation_prompt": ask,
        }
        if thinking is not None:
            values["enable_thinking"] = thinking
        try:
            with _Deadline(self._time_limit_s):
                return _joined(self._template.generate(values))
        except _TimeUp:
            raise TemplateError("the template ran for too long") from None
        except Exception as error:  # whatever a hostile template provokes
            raise TemplateError(_reason(error)) from error


def thinking_open(prompt: str) -> bool:
    """The prompt ends inside a thinking block, so the answer begins with thoughts."""
    return prompt.rfind("<think>") > prompt.rfind("</think>")


class _Deadline:
    """Raises _TimeUp in the thread of its ``with`` block when the time is over."""

    def __init__(self, limit_s: float) -> None:
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        self._active = True
        self._fired = False
        self._timer = threading.Timer(limit_s, self._fire)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def _fire(self) -> None:
        with self._lock:
            if self._active:
                self._fired = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self._thread), ctypes.py_object(_TimeUp)
                )

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._lock:
            self._active = False
        self._timer.cancel()
        if self._fired and kind is not _TimeUp:
            # Set but not yet delivered: it must not strike somewhere else.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), None)
            raise _TimeUp


def _joined(pieces: Iterable[str]) -> str:
    parts, length = [], 0
    for piece in pieces:
        parts.append(piece)
        length += len(piece)
        if length > OUTPUT_LIMIT:
            raise TemplateError("the template writes without end")
    return "".join(parts)


def _to_json(value: Value, ensure_ascii: bool = False, indent: int | None = None, **_: Value) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=min(indent, 8) if indent else None)


def _strftime_now(form: str) -> str:
    return datetime.datetime.now().strftime(str(form)[:64])


def _raise_exception(message: object) -> str:
    raise jinja2.TemplateError(str(message))


def _reason(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__)[:500]
