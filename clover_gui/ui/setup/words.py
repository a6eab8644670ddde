"""The texts of the set-up page: what goes on, what a download would mean, what a repair would change."""

from __future__ import annotations

from dataclasses import replace

from clover_gui.catalog.entry import CatalogEntry
from clover_gui.engine.protocol import LoadProgress
from clover_gui.explain import describe_model
from clover_gui.explain.repair_hints import finding_text
from clover_gui.i18n import _, capped, duration, file_size, number
from clover_gui.model_file.summary import ModelFile
from clover_gui.pipeline.engine_install import InstallProgress
from clover_gui.pipeline.obtain import ModelOffer, Runnable
from clover_gui.pipeline.repairing import Examination, Repairing
from clover_gui.planning.plan import Speed

Rows = tuple[tuple[str, str], ...]


def model_rows(model: ModelFile) -> Rows:
    """Name and shape of a file that is here."""
    name, *more = describe_model(model)
    return ((_("File"), name), (_("Structure"), "; ".join(more)))


def known_rows(entry: CatalogEntry, shape: ModelFile) -> Rows:
    """Name and shape of a model that is known without its file."""
    # Its chat template comes with the file: nothing is said of one that is not there.
    name, *more = describe_model(replace(shape, name=entry.title, chat_template="-"))
    return (
        (_("File"), name),
        (_("Structure"), "; ".join(more)),
        (_("Licence"), entry.licence),
    )


def ahead_note(*, known: bool) -> str:
    """Where the plan of a model comes from that is not here; ``known``: not from its header at the hub."""
    if known:
        return _("Computed before the download, from the known shape of this model.")
    return _("Computed before the download, from the beginning of the file at the hub.")


def offline_note() -> str:
    """The same where the hub cannot be reached."""
    return _("The plan is computed from what is known of this model. The download needs a connection.")


def offer_rows(offer: ModelOffer, folder: str) -> Rows:
    """What a download would bring and cost."""
    source = offer.source
    here = offer.offer.present_bytes
    amount = file_size(source.size_bytes)
    if 0 < here < source.size_bytes:
        amount = _("{size}, of which {here} are here already").format(size=amount, here=file_size(here))
    space = _("{needed} needed, {free} free in {folder}").format(
        needed=file_size(offer.offer.needed_bytes),
        free=file_size(offer.offer.free_bytes),
        folder=capped(folder, 120),
    )
    return (
        (_("File"), capped(source.file_name)),
        (_("From"), capped(f"{source.repository} ({source.revision[:10]})", 120)),
        (_("Size"), amount),
        (_("Disk"), space),
        (_("Engine"), _runnable(offer.runnable)),
        (_("Licence"), offer.entry.licence),
    )


def _runnable(verdict: Runnable) -> str:
    texts = {
        Runnable.AS_IT_IS: _("can run this kind of model"),
        Runnable.AFTER_REPAIR: _(
            "can run this file after a small repair, which is done here and can be undone"
        ),
        Runnable.NOT: _("cannot run this kind of model; a newer engine is needed"),
    }
    return texts.get(verdict, _("will tell when the file is here"))


def repair_notes(examination: Examination) -> list[tuple[str, bool]]:
    """What would be repaired, as lines for the plan card."""
    if not examination.needs_repair:
        return []
    lines = [
        _("As published, this file does not run. It is repaired at the start, which can be undone."),
        *(finding_text(f.kind.value, len(f.names)) for f in examination.diagnosis.findings),
    ]
    if examination.owner:
        lines.append(_("The file belongs to another program and is not changed: a copy of it is repaired."))
    return [(line, False) for line in lines]


def speed_text(speed: Speed) -> str:
    """How fast answers will be written, for the row of that name."""
    rate = number(speed.tokens_per_second, 1 if speed.tokens_per_second < 10 else 0)
    if speed.measured:
        return _("{rate} tokens per second, measured on this machine").format(rate=rate)
    return _("about {rate} tokens per second ({low} to {high}), estimated").format(
        rate=rate, low=number(speed.low), high=number(speed.high)
    )


def repair_text(progress: Repairing) -> tuple[str, float | None]:
    """Only shown where the file has to be copied."""
    text = _("Repairing a copy: {done} of {total}").format(
        done=file_size(progress.done_bytes), total=file_size(progress.total_bytes)
    )
    return text, progress.done_bytes / progress.total_bytes if progress.total_bytes else None


def load_text(progress: LoadProgress) -> tuple[str, float | None]:
    """What the engine does on the way to the first token."""
    texts = {
        "reading": _("Reading the model file…"),
        "context": _("Making room for the chat…"),
        "warm-up": _("Warming up…"),
    }
    text = texts.get(progress.stage, _("Loading the model…"))
    if progress.fraction is not None and progress.stage == "reading":
        text += " " + _("{percent} %").format(percent=number(100 * progress.fraction))
    return text, progress.fraction


def install_text(step: InstallProgress) -> tuple[str, float | None]:
    """How far the engine's installation is."""
    texts = {
        "look": _("Looking for an engine that fits this machine…"),
        "wait": _("The engine is already being set up elsewhere; waiting for it…"),
        "wheel": _("Looking for a ready-made engine…"),
        "download": _("Fetching the engine's source…"),
        "compile": _("Building the engine for this machine; this is needed only once…"),
        "install": _("Installing the engine…"),
        "verify": _("Trying the engine…"),
    }
    text = texts.get(step.step, _("Preparing the engine…"))
    if not step.total:
        return text, None
    text += " " + _("{done} of {total} parts").format(done=number(step.done), total=number(step.total))
    if step.seconds_left is not None:
        text += ", " + _("about {time} left").format(time=duration(step.seconds_left))
    return text, step.done / step.total
