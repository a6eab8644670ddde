"""What a person has set for one chat apart from the model's own values: sampling, limits, JSON.

Kept with the chat as JSON. What is None is left to the model. Must not know: names of settings for people.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from clover_gui.chat.sound_values import is_sound_number
from clover_gui.engine.protocol import Limits, Sampling

# The least and the largest value that is taken from a file; beyond it is not what anybody has set here.
_RANGES: dict[str, tuple[float, float]] = {
    "temperature": (0.0, 5.0),
    "top_p": (0.0, 1.0),
    "top_k": (0, 1 << 20),
    "min_p": (0.0, 1.0),
    "presence_penalty": (-2.0, 2.0),
    "repeat_penalty": (0.1, 5.0),
    "seed": (0, (1 << 32) - 1),
    "thinking_tokens": (0, 1 << 22),
    "answer_tokens": (0, 1 << 22),
}
_WHOLE = ("top_k", "seed", "thinking_tokens", "answer_tokens")


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """Fields as in ``Sampling`` and ``Limits`` of the engine's protocol; None: as the model's makers say.

    ``precise``: begin from the makers' values for code and facts, if there are any.
    """

    precise: bool = False
    json_only: bool = False
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    presence_penalty: float | None = None
    repeat_penalty: float | None = None
    seed: int | None = None
    thinking_tokens: int | None = None
    answer_tokens: int | None = None

    @property
    def is_default(self) -> bool:
        """Whether everything is left to the model."""
        return self == ChatOptions()

    def sampling(self, usual: Sampling) -> Sampling:
        """``usual`` with what is set here in place of its values."""
        return dataclasses.replace(usual, json_only=self.json_only, **self._set_fields_of(Sampling))

    def limits(self) -> Limits:
        """The usual limits with what is set here in place of their values."""
        return dataclasses.replace(Limits(), **self._set_fields_of(Limits))

    def _set_fields_of(self, kind: type) -> dict[str, Any]:
        names = [field.name for field in dataclasses.fields(kind) if field.name in _RANGES]
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}


def settings_text(sampling: Sampling | None, limits: Limits | None) -> str:
    """The values that an answer is made with, by the names that model makers use."""
    values: dict[str, Any] = dataclasses.asdict(sampling or Sampling())
    chosen = limits or Limits()
    values |= {name: getattr(chosen, name) for name in ("thinking_tokens", "answer_tokens")}
    shown = {name: value for name, value in values.items() if value is not None and value is not False}
    return ", ".join(f"{name} {value:g}" if name != "json_only" else name for name, value in shown.items())


def options_to_dict(options: ChatOptions) -> dict[str, Any]:
    """Only what is set."""
    default = ChatOptions()
    return {
        field.name: getattr(options, field.name)
        for field in dataclasses.fields(options)
        if getattr(options, field.name) != getattr(default, field.name)
    }


def options_from_dict(values: object) -> ChatOptions:
    """The options; what is unknown or cannot be true is left to the model. Never raises."""
    if not isinstance(values, dict):
        return ChatOptions()
    taken: dict[str, Any] = {
        name: values[name] for name in ("precise", "json_only") if isinstance(values.get(name), bool)
    }
    for name, (low, high) in _RANGES.items():
        value = values.get(name)
        if is_sound_number(value) and low <= value <= high:
            taken[name] = int(value) if name in _WHOLE else float(value)
    return ChatOptions(**taken)


def options_to_text(options: ChatOptions) -> str:
    """For the store; "" when everything is left to the model."""
    values = options_to_dict(options)
    return json.dumps(values, separators=(",", ":")) if values else ""


def options_from_text(text: str) -> ChatOptions:
    """Never raises; what cannot be read is left to the model."""
    if not text:
        return ChatOptions()
    try:
        return options_from_dict(json.loads(text))
    except (ValueError, RecursionError):
        return ChatOptions()
