"""The settings of how the next word is chosen, and how far an answer may go, in plain words.

One entry for each field of ``Sampling`` and ``Limits`` that a person may change, with a range that makes
sense; a settings panel is built from these.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from clover_gui.i18n import _, capped


@dataclass(frozen=True, slots=True)
class SettingText:
    """One setting. ``field`` is its name in ``Sampling`` or ``Limits``; low, high and step are for a control,
    a yes-or-no setting has step 0. ``off`` says what the lowest value means where it switches something off.
    """

    field: str
    title: str
    explanation: str
    low: float
    high: float
    step: float
    off: str = ""


def sampling_settings() -> tuple[SettingText, ...]:
    """Fields of ``Sampling``, the most useful first."""
    return (
        SettingText(
            "temperature",
            _("Freedom"),
            _(
                "How freely words are chosen (temperature). Low values give the same sober answer again and"
                " again, high ones surprising and at last senseless ones."
            ),
            0.0,
            2.0,
            0.05,
            _("always the likeliest word"),
        ),
        SettingText(
            "top_p",
            _("Likely words only"),
            _("Only the likeliest words that together reach this probability are considered (top p)."),
            0.05,
            1.0,
            0.01,
        ),
        SettingText(
            "top_k",
            _("Number of words to choose from"),
            _("Only so many of the likeliest words are considered (top k). Also makes the choice quick."),
            0,
            200,
            1,
            _("all"),
        ),
        SettingText(
            "min_p",
            _("Leave unlikely words out"),
            _("Words less likely than this part of the likeliest one are left out (min p)."),
            0.0,
            0.5,
            0.01,
            _("none"),
        ),
        SettingText(
            "presence_penalty",
            _("Against repetition"),
            _(
                "Makes words that the answer has used already less likely (presence penalty). Helps against"
                " loops; high values lead to odd words."
            ),
            0.0,
            2.0,
            0.1,
            _("off"),
        ),
        SettingText(
            "repeat_penalty",
            _("Against repetition, by factor"),
            _("As above, but by a factor (repeat penalty). Most models need none."),
            1.0,
            1.5,
            0.01,
            _("off"),
        ),
        SettingText(
            "seed",
            _("Seed"),
            _("The same number and settings give the same answer again. Empty: another one each time."),
            0,
            2**31 - 1,
            1,
        ),
        SettingText(
            "json_only",
            _("JSON only"),
            _("The answer is one JSON object or list and nothing else, for use by programs."),
            0,
            1,
            0,
        ),
    )


def limit_settings() -> tuple[SettingText, ...]:
    """Fields of ``Limits``."""
    off = _("no limit")
    return (
        SettingText(
            "thinking_tokens",
            _("Thinking"),
            _("After so many tokens the model is urged to end its thoughts, and soon made to."),
            0,
            32768,
            256,
            off,
        ),
        SettingText(
            "answer_tokens",
            _("Length of the answer"),
            _("After so many tokens the model is urged to come to an end. Nothing is cut off."),
            0,
            65536,
            256,
            off,
        ),
        SettingText(
            "answer_reserve",
            _("Room for the answer"),
            _("So many tokens of the context are kept free of thoughts."),
            0,
            8192,
            128,
            _("none"),
        ),
        SettingText(
            "loop_tokens",
            _("Stop repetition"),
            _("An answer that only repeats itself for so many tokens is stopped."),
            0,
            2000,
            50,
            _("never"),
        ),
        SettingText(
            "stop_strings",
            _("Stop texts"),
            _("The answer ends where one of these texts would come."),
            0,
            0,
            0,
        ),
    )


def named_settings(text: str) -> str:
    """The values of an answer as they are kept ("temperature 0.7, top_k 20") with the names of the dialog."""
    titles = {setting.field: setting.title for setting in (*sampling_settings(), *limit_settings())}
    parts = []
    for part in text.split(", "):
        name, _space, value = part.partition(" ")
        parts.append(f"{titles.get(name, name)} {value}".strip())
    return ", ".join(parts)


def presets_text(set_aside: Path | None) -> str:
    """What to say when the person's own presets could not all be read; "" when they could."""
    if set_aside is None:
        return ""
    return _("Some of your presets could not be read. The file is kept as {name}.").format(
        name=capped(set_aside.name)
    )


def source_text(source: str) -> str:
    """Where the makers' values stand; ``source`` is that of resources/catalog.toml."""
    known = {
        "common middle values; the makers of this model are not known here": _(
            "Common middle values; the makers of this model are not known here."
        ),
        "values of its base model Qwen3.6-35B-A3B for thinking": _(
            "Values of its base model Qwen3.6-35B-A3B for thinking."
        ),
        "values of its base model Qwen3.6-35B-A3B for thinking about precise work, as code": _(
            "Values of its base model Qwen3.6-35B-A3B for thinking about precise work, as code."
        ),
        "values of its base model Qwen3.6-35B-A3B without thinking": _(
            "Values of its base model Qwen3.6-35B-A3B without thinking."
        ),
        "model card of Qwen3-0.6B-GGUF, thinking mode, with its advice for quantised files": _(
            "Model card of Qwen3-0.6B-GGUF, thinking mode, with its advice for quantised files."
        ),
        "model card of Qwen3-0.6B-GGUF, non-thinking mode, with its advice for quantised files": _(
            "Model card of Qwen3-0.6B-GGUF, non-thinking mode, with its advice for quantised files."
        ),
        "example in the model card of SmolLM2-135M-Instruct": _(
            "Example in the model card of SmolLM2-135M-Instruct."
        ),
    }
    return known.get(source, source)


def preset_title(mode: str) -> str:
    """The name of a set of values (see pipeline/sampling_defaults.py)."""
    return {
        "thinking": _("Thinking"),
        "precise": _("Precise (for code and facts)"),
        "direct": _("Without thinking"),
    }.get(mode, _("Usual values"))
