"""Everything that the program and its engine child say to each other, as dataclasses.

One message is one line of JSON: ``{"type": "load", ...fields}``. Both ends import this module, so a
field is added in one place. Requests go down the child's stdin, events come up its (duplicated)
stdout. Unknown fields are ignored and missing ones take their defaults, so that versions may differ
by additions; ``VERSION`` changes when that is not enough, and the client refuses another number.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from dataclasses import dataclass, field
from typing import Any

VERSION = 1

# Kinds of failure in ``Failed.kind``.
FAIL_MISSING = "missing"
FAIL_UNREADABLE = "unreadable"  # no rights, a folder, an input/output error
FAIL_ARCHITECTURE = "unknown-architecture"
FAIL_TRUNCATED = "truncated"
FAIL_CORRUPT = "corrupt"
FAIL_MEMORY = "out-of-memory"
FAIL_DEVICE = "no-such-device"  # a graphics device of the plan is not there (any more)
FAIL_CANCELLED = "cancelled"
FAIL_TEMPLATE = "template"
FAIL_CONTEXT_FULL = "context-full"
FAIL_NOT_LOADED = "not-loaded"
FAIL_DECODE = "decode"
FAIL_OTHER = "other"

# Exit codes of a child that cannot serve at all; a Fatal message with the reason goes before.
EXIT_ENGINE_MISSING = 70
EXIT_ENGINE_UNSUPPORTED = 71

# ``Finished.reason``.
STOP_END = "end"  # the model ended its answer
STOP_LENGTH = "length"  # max_tokens reached
STOP_CONTEXT = "context-full"  # the context is used up
STOP_CANCELLED = "cancelled"
STOP_STRING = "stop-string"  # one of ``Limits.stop_strings`` was written
STOP_LOOP = "loop"  # the same again and again (see ``Limits.loop_tokens``)
STOP_NOT_A_NUMBER = "not-a-number"  # the engine computes values that are no numbers

# ``Text.thinking_closed`` and ``Finished.thinking_closed``: why the thoughts were ended from outside.
CLOSED_BUDGET = "budget"  # ``Limits.thinking_tokens`` and its grace were used up
CLOSED_RESERVE = "reserve"  # the rest of the context, or of max_tokens, is kept for the answer
CLOSED_LOOP = "loop"

# ``Finished.cause``: what probably is behind STOP_LOOP and STOP_NOT_A_NUMBER.
CAUSE_FILE = "file"  # wrong from its first words on: the file or its quantisation is broken
CAUSE_LONG_CONTEXT = "long-context"  # beyond what the model was trained for, or far into the context
CAUSE_REPETITION = "repetition"  # sound at first: it fell into a loop

# Layout of one chat message in ``Generate.messages``.
ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT = "system", "user", "assistant"


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One turn as the template sees it."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Begun:
    """The beginning of an answer that is to be gone on with, as the program keeps it: the thoughts between
    their tags and the text behind them. Without text the thoughts are taken to be open still."""

    text: str
    thinking: str = ""


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """How to load a file. Layers and tokens are counts; ``kv_type`` is "f16", "q8_0" or "q4_0".

    ``gpu_layers`` as in llama.cpp (repeating layers + 1 for the output; -1 all). ``threads`` 0 lets the
    child choose physical cores minus one (at least one). ``checkpoint_bytes`` bounds the copies of the
    recurrent state that make later turns of hybrid models fast, and those of other chats' states.

    ``batch`` is the number of prompt tokens that are computed at once, 1 to 2048. ``devices``
    are the names of the engine's graphics devices to use, () all; with no layer on a GPU none is used.
    ``tensor_split`` are the shares of the layers for these devices, in their order, () by free memory.
    """

    path: str
    context: int = 4096
    kv_type: str = "f16"
    gpu_layers: int = 0
    cpu_expert_layers: int = 0
    threads: int = 0
    batch: int = 512
    use_mmap: bool = True
    checkpoint_bytes: int = 512 * 1024 * 1024
    devices: tuple[str, ...] = ()
    tensor_split: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is chosen. temperature 0 is greedy. seed None means a new one each time.

    The penalties look only at what the answer wrote itself. ``json_only`` lets the answer (not the thoughts)
    be one JSON object or array and nothing else; penalties are left out there, since they punish its signs.
    """

    temperature: float = 0.7
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.0
    presence_penalty: float = 0.0
    repeat_penalty: float = 1.0
    seed: int | None = None
    json_only: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """How far an answer may go. Counts in tokens; 0 switches a limit off.

    After ``thinking_tokens`` thoughts are drawn to their end more and more, and after ``thinking_grace``
    more they are closed; the answer then begins. After ``answer_tokens`` the answer is drawn to its end in
    the same way (by ``answer_grace`` as strongly as thoughts at theirs), but never cut. The first numbers are
    those that the makers of Clover publish. ``answer_reserve`` of the room that is left (at most a quarter
    of it) is kept for the answer: thoughts are closed before they use it. ``loop_tokens``: so many tokens
    that only repeat a cycle close the thoughts or stop the answer. ``stop_strings`` end an answer where one
    of them would come; they are not looked for in thoughts.
    """

    thinking_tokens: int = 4096
    thinking_grace: int = 512
    answer_tokens: int = 8192
    answer_grace: int = 2048
    answer_reserve: int = 1024
    loop_tokens: int = 200
    stop_strings: tuple[str, ...] = ()


# ------------------------------------------------------------------ requests (program -> child)


@dataclass(frozen=True, slots=True)
class Describe:
    """Ask for EngineInfo: version, devices, known architectures (asked of the engine itself)."""

    id: int


@dataclass(frozen=True, slots=True)
class Load:
    id: int
    settings: LoadSettings


@dataclass(frozen=True, slots=True)
class DryRun:
    """Ask for the exact buffer sizes of these settings without allocating them."""

    id: int
    settings: LoadSettings


@dataclass(frozen=True, slots=True)
class Generate:
    """Answer the last message. ``thinking`` None leaves the template's own default.

    ``begun``: go on with this beginning of the answer. What is written then is only what follows it, and so
    are all counts.
    """

    id: int
    messages: tuple[PromptMessage, ...]
    thinking: bool | None = None
    sampling: Sampling = field(default_factory=Sampling)
    max_tokens: int = 0  # 0: until the context is full
    limits: Limits = field(default_factory=Limits)
    begun: Begun | None = None


@dataclass(frozen=True, slots=True)
class Count:
    """Ask for Counted: how long this prompt is, and what must go if it does not fit.

    ``reserve`` is the room in tokens that the answer shall have (at most a quarter of the context counts).
    """

    id: int
    messages: tuple[PromptMessage, ...]
    thinking: bool | None = None
    reserve: int = 1024
    begun: Begun | None = None


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop request ``target`` (a load or an answer) as soon as possible. Handled while it runs."""

    target: int


@dataclass(frozen=True, slots=True)
class Unload:
    id: int


@dataclass(frozen=True, slots=True)
class Shutdown:
    """End the child."""


# ------------------------------------------------------------------ events (child -> program)


@dataclass(frozen=True, slots=True)
class Ready:
    """First message of a child: it can take requests."""

    protocol: int
    pid: int
    engine_version: str


@dataclass(frozen=True, slots=True)
class EngineDevice:
    """One device of the engine's own list. ``type`` is "cpu", "gpu", "igpu", "accel" or "meta"."""

    name: str
    description: str
    backend: str
    type: str
    memory_free_bytes: int
    memory_total_bytes: int


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """Answer to Describe. ``system_info`` is the engine's own line on processor features."""

    id: int
    engine_version: str
    gpu_offload: bool
    devices: tuple[EngineDevice, ...]
    architectures: dict[str, bool]
    system_info: str = ""
    library_folder: str = ""


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """``fraction`` 0..1, or None while the engine cannot tell (a file that is mapped)."""

    id: int
    fraction: float | None
    stage: str = "reading"  # "reading", "loading", "context", "warm-up"


@dataclass(frozen=True, slots=True)
class BufferBytes:
    """Bytes that the engine holds in one buffer type (its name, for example "CPU_Mapped")."""

    buffer: str
    device: str
    is_host: bool
    model: int = 0
    context: int = 0
    compute: int = 0


@dataclass(frozen=True, slots=True)
class Loaded:
    """The model answers: a warm-up token was computed. ``template`` is "file", "builtin" or "plain".

    ``trained_context`` is what the model was trained for (0: not said).
    ``seconds`` is the time from the request to here. ``can_switch_thinking`` was found by rendering the
    template with and without the switch. ``template_error`` says why the file's template is not used.
    """

    id: int
    description: str
    context: int
    vocabulary_size: int
    template: str
    can_switch_thinking: bool
    seconds: float
    buffers: tuple[BufferBytes, ...] = ()
    threads: int = 1
    chat_bos: bool = False
    template_error: str = ""
    trained_context: int = 0


@dataclass(frozen=True, slots=True)
class DryRunResult:
    id: int
    buffers: tuple[BufferBytes, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """The prompt is being read: ``done`` of ``total`` new tokens, ``reused`` were known already.

    The first one of an answer has done=0 and tells whether the rendered prompt ends inside an open
    thinking block (``in_thinking``). ``thinking_budget`` is what the thoughts may take in the end, all
    limits considered (0: as much as they like). ``begun``, also in the first one only, is the beginning of
    an answer that is gone on with, as the model wrote it, tags included.
    """

    id: int
    done: int
    total: int
    reused: int = 0
    seconds: float = 0.0
    in_thinking: bool = False
    thinking_budget: int = 0
    begun: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the answer, whole characters only. ``tokens`` counts those written so far in all.

    ``seconds`` is the writing time so far; ``context_used`` the tokens that the context holds now.
    ``thinking_tokens`` of ``tokens`` are thoughts; ``thinking_closed`` (CLOSED_*) says that they were ended
    from outside.
    """

    id: int
    text: str
    tokens: int
    seconds: float
    context_used: int = 0
    thinking_tokens: int = 0
    thinking_closed: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer ended. Tokens: ``read`` newly evaluated, ``reused`` from before, ``written`` generated.

    ``thinking_tokens`` of those written are thoughts. ``cause`` (CAUSE_*) goes with STOP_LOOP and
    STOP_NOT_A_NUMBER.
    """

    id: int
    reason: str
    read: int
    reused: int
    written: int
    read_seconds: float
    write_seconds: float
    context_used: int
    seed: int = 0
    thinking_tokens: int = 0
    thinking_closed: str = ""
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Counted:
    """The prompt has ``prompt_tokens``. ``fits``: with ``reserve`` tokens of room for the answer.

    Where it does not fit, ``drop`` is the least number of the oldest turns (a message of the person and what
    followed it) without which it does, and ``tokens_after_drop`` its length then. 0 turns: even the newest
    message alone is too long.
    """

    id: int
    prompt_tokens: int
    context_tokens: int
    reserve: int
    fits: bool
    drop: int = 0
    tokens_after_drop: int = 0


@dataclass(frozen=True, slots=True)
class Unloaded:
    id: int


@dataclass(frozen=True, slots=True)
class Failed:
    """A request failed. ``reason`` is the engine's own word, ``log_lines`` its last lines.

    ``numbers`` carries facts for the sentence, for example prompt_tokens and context_tokens.
    """

    id: int
    kind: str
    reason: str
    log_lines: tuple[str, ...] = ()
    numbers: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fatal:
    """Last words before the child aborts (an assertion in the engine)."""

    reason: str


Request = Describe | Load | DryRun | Generate | Count | Cancel | Unload | Shutdown
Event = (
    Ready
    | EngineInfo
    | LoadProgress
    | Loaded
    | DryRunResult
    | Reading
    | Text
    | Finished
    | Counted
    | Unloaded
    | Failed
    | Fatal
)

_Value = Any  # of JSON, or a part of a message
_TYPES: dict[str, type] = {cls.__name__: cls for union in (Request, Event) for cls in typing.get_args(union)}


def to_line(message: Request | Event) -> str:
    """One message as one line of JSON with its line end."""
    fields = dataclasses.asdict(message)
    return (
        json.dumps({"type": type(message).__name__, **fields}, ensure_ascii=True, separators=(",", ":"))
        + "\n"
    )


def from_line(line: str) -> Request | Event:
    """The message of one line.

    Raises:
        ValueError: not JSON, not a known type, or a required field is missing.
    """
    data = json.loads(line)
    if not isinstance(data, dict):
        raise ValueError("a message is a JSON object")
    cls = _TYPES.get(str(data.pop("type", "")))
    if cls is None:
        raise ValueError("unknown message type")
    message: Request | Event = _build(cls, data)
    return message


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _build(cls: type, data: dict[str, Any]) -> _Value:
    hints = _hints(cls)
    known = {f.name for f in dataclasses.fields(cls)}
    try:
        return cls(**{k: _convert(hints[k], v) for k, v in data.items() if k in known})
    except TypeError as error:
        raise ValueError(str(error)) from error


def _convert(hint: _Value, value: _Value) -> _Value:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type) and isinstance(value, dict):
        return _build(hint, value)
    origin: object = typing.get_origin(hint)
    if origin is tuple and isinstance(value, list):
        item = typing.get_args(hint)[0]
        return tuple(_convert(item, v) for v in value)
    if origin is types.UnionType and value is not None:
        inner = [a for a in typing.get_args(hint) if a is not type(None)]
        return _convert(inner[0], value) if len(inner) == 1 else value
    return value
