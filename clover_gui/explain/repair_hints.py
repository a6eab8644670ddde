"""Findings, verdicts and results of a diagnosis or repair in plain words, by their key words."""

from __future__ import annotations

from clover_gui.i18n import _, capped, ngettext, number


def finding_text(kind: str, count: int = 1) -> str:
    """One finding; ``kind`` as in ``patching.findings.FindingKind``, ``count`` the tensors or keys."""
    texts = {
        "architecture": _("It carries a name for this kind of model that the engine does not know."),
        "shared-count-missing": _("The number of shared experts is missing."),
        "raw-decay": _(
            "The decay values (ssm_a) are stored as they were trained, not as the engine needs them."
        ),
        "raw-norms": _("The norm weights are stored around zero; the engine needs them around one."),
        "rope-sections": _("The sections of the position encoding are missing or incomplete."),
        "key-missing": _("A number that the engine needs is missing; it follows from the shapes."),
        "next-n-as-block": _("A prediction layer is counted as an ordinary layer."),
    }
    if kind == "surplus-tensors":
        return ngettext(
            "{count} tensor is in it that the engine refuses.",
            "{count} tensors are in it that the engine refuses.",
            count,
        ).format(count=number(count))
    return texts.get(kind, capped(kind))


def verdict_text(verdict: str, obstacle: str = "") -> str:
    """The verdict of a diagnosis; both words as in ``patching.findings``."""
    if verdict == "cannot":
        texts = {
            "not-family": _("It is another kind of model, which the engine does not know."),
            "engine-too-old": _("The engine does not know any name for this kind of model."),
            "contradictory": _("Its values contradict each other. A repair can be forced and undone."),
            "incomplete": _("It lacks something that cannot be derived from the rest."),
            "not-understood": _("It has a form that cannot be changed safely."),
        }
        return texts.get(obstacle, _("It cannot be repaired."))
    if verdict == "needs-repair":
        return _("It needs a repair before it runs. The repair can be undone.")
    if verdict == "interrupted":
        return _("A repair of it was interrupted. Repairing it again puts it in order.")
    return _("It runs as it is.")


def way_text(way: str) -> str:
    """How a file was changed; the word as in ``patching.plan.Way``."""
    texts = {
        "in-place": _("Changed in place; nothing was copied."),
        "insert": _("Changed in place; a small block was inserted at the front, nothing was copied."),
        "copy": _("There was no room for the change: the file was copied once."),
    }
    return texts.get(way, capped(way))


def speech_text(verdict: str) -> str:
    """The result of the question that is asked after a repair; the word as in ``patching.check.Speech``."""
    texts = {
        "passes": _("It answers sensibly."),
        "fails": _("It answered, but not with what was asked for. Try another form of repair, or undo it."),
        "degenerate": _("It repeats itself without end. Try another form of repair, or undo it."),
    }
    return texts.get(verdict, capped(verdict))
