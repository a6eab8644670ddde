"""What the page "Engine" tells of the last step and of the program's own engine. Must not know: widgets."""

from __future__ import annotations

from clover_gui.engine.libraries import ENGINE_VERSION
from clover_gui.explain.flavour_words import flavour_title, suitable_text
from clover_gui.flavours.flavour import Flavour
from clover_gui.flavours.suitable import Suggestion, Why
from clover_gui.i18n import _
from clover_gui.paths import is_package


def nothing() -> str:
    """There is nothing to tell."""
    return ""


def stopped_text() -> str:
    """The person has stopped an installation."""
    return _("Stopped. Nothing was changed; what was downloaded is kept.")


def installed_text(flavour: Flavour, *, later: bool) -> str:
    """``later``: a model is loaded, with another engine."""
    text = _("Installed and tried: {title}.").format(title=flavour_title(flavour))
    return text + " " + _("It is used from the next time a model is loaded.") if later else text


def own_facts() -> str:
    """Version and origin of the program's own engine."""
    if is_package():
        return _("Version {version}, came with the program").format(version=ENGINE_VERSION)
    return _("Version {version}, installed with the program's set-up").format(version=ENGINE_VERSION)


def reason_text(one: Suggestion, *, on_processor: bool) -> str:
    """Why an engine is offered; ``on_processor``: that is what the one in use computes on."""
    if one.why is Why.PROCESSOR and on_processor:
        return suitable_text(one) + " " + _("The engine in use computes on the processor already.")
    return suitable_text(one)
