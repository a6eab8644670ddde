"""The texts of key words: advice, warnings and suggestions of a plan, notes of probes, ends of answers,
conditions of the chat store.

The stages speak in words ("gpu-unusable"); a word that is not known here gives a general sentence or "".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from clover_gui.hardware.machine import ProbeNote
from clover_gui.i18n import _, capped, ngettext, number, size
from clover_gui.planning.cure import Cure, CureKind
from clover_gui.planning.fit_watch import RefitOffer
from clover_gui.planning.plan import FitPlan, Placement

Fact = str | int | float


def advice_text(key: str, facts: Mapping[str, Fact]) -> str:
    """The sentence of an Advice (see pipeline/advice.py), without its command."""
    return _advice(key).format(**{name: _fact(name, value) for name, value in facts.items()})


def _advice(key: str) -> str:
    texts = {
        "engine-missing": _("The engine is not installed; nothing can be computed without it."),
        "engine-failed": _("The engine does not start: {reason}."),
        "engine-too-old": _("This engine does not know the architecture of Clover ({architecture})."),
        "gpu-unusable": _(
            "There is a graphics card ({gpu}), but this build of the engine cannot use it:"
            " answers come many times slower."
        ),
        "gpu-not-seen": _(
            "There is a graphics card ({gpu}), but the engine, although built for one, does not see it."
        ),
        "gpu-lost": _(
            "The driver has lost the graphics card, as can happen after sleep: it is not used until the"
            " machine is started again."
        ),
        "gpu-driver-missing": _("There is a graphics card without a working driver: {device}."),
        "gpu-driver-error": _("The graphics driver reports an error: {reason}."),
        "no-gpu": _(
            "No graphics card was found. Small models are quick enough on the processor; large ones are slow."
        ),
        "little-ram": _(
            "Only {free} of {total} of RAM are free. Close other programs before loading a model."
        ),
        "little-disk": _("Only {free} are free on the disk; Clover needs about {needed}."),
        "slow-processor": _("This processor has no AVX2: answers come several times slower."),
    }
    return texts.get(key, _("There is something to look at: {key}.").replace("{key}", capped(key)))


def _fact(name: str, value: Fact) -> str:
    if isinstance(value, str):
        return capped(value, 160).rstrip(".")
    return size(value) if name in ("free", "total", "needed") else number(value)


def warning_text(word: str) -> str:
    """The sentence of a word in ``FitPlan.warnings`` (or of the pipeline's)."""
    texts = {
        "gpu-unusable": _("The graphics card is not used: this engine cannot use it."),
        "gpu-not-seen": _("The graphics card is not used: the engine does not see it."),
        "gpu-lost": _(
            "The driver has lost the graphics card, as can happen after sleep: it is not used until the"
            " machine is started again."
        ),
        "gpu-memory-disagrees": _(
            "The driver and the engine report different sizes of the graphics memory; the smaller one counts."
        ),
        "gpu-not-used": _("The model should lie on the graphics card, but the engine holds nothing there."),
        "more-than-planned": _("More graphics memory is in use than was planned."),
        "software-gpu": _("The graphics card is only emulated in software and is not used."),
        "chosen-gpu-missing": _(
            "The graphics card that you chose is not there now; the choice is made automatically."
        ),
        "not-on-gpu": _("The graphics card has too little free memory for a useful part of this model."),
        "context-limited": _("The context is limited to what the model was trained for."),
        "context-reduced": _("The context is smaller than usual, so that everything fits."),
        "kv-full-only": _("This model can keep its context in full precision (F16) only."),
        "kv-quantised": _("The context is kept in a compact form (Q8_0), so that everything fits."),
        "experts-in-ram": _("Some experts stay in RAM; this is slower than a card that holds everything."),
        "partly-on-gpu": _(
            "Only a part of the model fits on the graphics card; the rest is computed on the processor."
        ),
        "ram-tight": _("Little RAM will be left for other programs."),
    }
    return texts.get(word, _("Note: {word}.").format(word=capped(word)))


def suggestion_text(word: str) -> str:
    """What to do, by a word in ``DoesNotFit.suggestions``; "" for an unknown word."""
    return {
        "smaller-context": _("Choose a smaller context."),
        "kv-q8_0": _("Choose the compact form (Q8_0) for the context."),
        "more-experts-in-ram": _("Keep the experts of more layers in RAM."),
        "fewer-gpu-layers": _("Put fewer layers on the graphics card."),
        "smaller-reserve": _("Keep less of the graphics memory free."),
        "close-programs": _("Close other programs."),
        "smaller-model": _("Choose a smaller model."),
    }.get(word, "")


def cure_text(cure: Cure) -> str:
    """The one change with which it fits, as the text of the button that makes it."""
    plan = cure.plan
    if cure.kind is CureKind.EXPERTS:
        if plan.placement is Placement.EXPERTS_ON_CPU:
            return ngettext(
                "Keep the experts of {count} layer in RAM",
                "Keep the experts of {count} layers in RAM",
                plan.cpu_expert_layers,
            ).format(count=number(plan.cpu_expert_layers))
        return _("Choose the place of the experts automatically")
    return {
        CureKind.KV_TYPE: _("Keep the context in the compact form (Q8_0)"),
        CureKind.CONTEXT: _("Take {count} tokens of context").format(count=number(plan.context)),
        CureKind.GRAPHICS: _("Choose the graphics cards automatically"),
    }.get(cure.kind, _("Choose everything automatically"))


def device_use_text(word: str) -> str:
    """Why a graphics device is used or not, by the word of a DeviceVerdict (pipeline/gpu_choice.py)."""
    return {
        "used": _("used"),
        "no-driver": _("not used: it has no working driver"),
        "not-seen": _("not used: the engine does not see it"),
        "no-gpu-engine": _("not used: this engine was built for the processor only"),
        "slower": _("not used: a graphics card is faster"),
        "size-unknown": _("not used: the size of its memory is unknown"),
        "not-chosen": _("not used, by your choice"),
        "left-out": _("not used: the model runs better without it"),
        "too-small": _("not used: too little of its memory is free for a useful part of the model"),
    }.get(word, "")


def left_out_text(names: Sequence[str]) -> str:
    """Graphics cards that a plan leaves out on purpose; "" for none."""
    if not names:
        return ""
    return _("Not used, because the model runs better without it: {names}.").format(
        names=", ".join(capped(name) for name in names)
    )


def replan_text(word: str, before: FitPlan | None = None, now: FitPlan | None = None) -> str:
    """Why another plan took the place of the first, by the word of a Replanned event; with both plans also
    how much other programs have taken."""
    taken = _("Other programs have taken memory meanwhile: the plan was made smaller.")
    if before is not None and now is not None:
        there, here = before.gpu_available_bytes, now.gpu_available_bytes
        if not 0 < here < there:
            there, here = before.ram_available_bytes, now.ram_available_bytes
        if 0 < here < there:
            taken = _(
                "Other programs have taken memory meanwhile ({now} are free instead of {before}):"
                " the plan was made smaller."
            ).format(now=size(here), before=size(there))
    return {
        "memory-taken": taken,
        "more-needed": _("The engine needs more memory than was computed: the plan was made smaller."),
        "out-of-memory": _("The memory was not enough: trying again with a smaller plan."),
    }.get(word, "")


def dry_run_text(word: str) -> str:
    """What to say of a dry run, by how it ended; "" where there is nothing to say."""
    return {
        "timeout": _("The engine did not check the plan in time; its sizes are computed."),
        "crashed": _("The engine failed while it checked the plan; its sizes are computed."),
        "refused": _("The engine could not check the plan; its sizes are computed."),
    }.get(word, "")


def refit_text(offer: RefitOffer) -> str:
    """The one offer to load the model anew while people chat."""
    if offer.reason == "memory-taken":
        return _(
            "Other programs have taken graphics memory: only {free} are free. Load the model again so that"
            " it fits again?"
        ).format(free=size(offer.free_bytes))
    if offer.reason == "spilled":
        return _(
            "A part of the model ({size}) was moved from the graphics memory to RAM, which is much"
            " slower. Load the model again so that it fits again?"
        ).format(size=size(offer.free_bytes))
    return _(
        "Answers come at {rate} tokens per second instead of {usual}; perhaps the graphics memory is full."
        " Load the model again so that it fits again?"
    ).format(rate=number(offer.tokens_per_second, 1), usual=number(offer.usual_tokens_per_second))


def note_text(note: ProbeNote) -> str:
    """Why a probe found nothing or only a part."""
    texts = {
        "no-driver": _("no driver"),
        "driver-error": _("the driver reports an error"),
        "library-missing": _("a library is missing"),
        "permission": _("no permission"),
        "not-supported": _("not supported"),
        "device-lost": _("the device is lost; often a restart of the machine brings it back"),
        "failed": _("could not be read"),
    }
    kind = texts.get(note.kind, capped(note.kind))
    return f"{capped(note.probe, 30)}: {kind} ({capped(note.reason, 160)})"


def store_text(
    condition: str, reason: str, set_aside: Path | None = None, *, chats: int = 0, messages: int = 0
) -> str:
    """What to say about a chat database that was not simply opened; "" when all is well.

    ``chats`` and ``messages``: so many were saved from a damaged one.
    """
    reason = capped(reason)
    if condition == "set-aside" and set_aside is not None:
        kept = _("The file with your chats was damaged. It is kept as {name}.").format(
            name=capped(set_aside.name)
        )
        if not chats:
            return f"{kept} " + _("Nothing in it could be read, so you begin without chats.")
        many_chats = ngettext("{count} chat", "{count} chats", chats).format(count=number(chats))
        many = ngettext("{count} message", "{count} messages", messages).format(count=number(messages))
        saved = _("{chats} with {messages} could be saved; the latest words may be missing.")
        return f"{kept} " + saved.format(chats=many_chats, messages=many)
    if condition == "read-only":
        return _("The data folder cannot be written ({reason}): new chats are not kept.").format(
            reason=reason
        )
    if condition == "too-new":
        return _("Your chats were written by a newer version of this program: new chats are not kept.")
    if condition == "unusable":
        return _("The file with your chats cannot be used ({reason}): new chats are not kept.").format(
            reason=reason
        )
    return ""
