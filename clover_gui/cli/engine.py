"""``clover-gui engine``: the engines that are installed, and how to get, choose and remove them.

The program's own engine is always there under the name "own". With ``--json`` the output is one object.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
from pathlib import Path
from typing import Any

from clover_gui import settings as settings_file
from clover_gui.cli.failure import refuse
from clover_gui.cli.screen import Screen
from clover_gui.engine.libraries import ENGINE_VERSION
from clover_gui.exit_codes import ExitCode
from clover_gui.explain.flavour_words import (
    flavour_devices,
    flavour_facts,
    flavour_title,
    obstacle_text,
    progress_text,
    suitable_text,
)
from clover_gui.flavours.flavour import BUILT_IN, Flavour
from clover_gui.flavours.install import Installer, Progress
from clover_gui.flavours.platform_tags import this_platform
from clover_gui.flavours.published import SETS, index_address
from clover_gui.flavours.store import FlavourStore
from clover_gui.flavours.suitable import obstacles, suggestions
from clover_gui.hardware.backends import probe_backends
from clover_gui.hardware.probe import probe_machine
from clover_gui.i18n import _, capped, file_size
from clover_gui.paths import DataFolder, expanded

OWN = "own"


def add_options(group: argparse._ArgumentGroup) -> None:
    actions = group.add_mutually_exclusive_group()
    actions.add_argument(
        "--list",
        action="store_true",
        help=_("say what is installed and what fits (the same without options)"),
    )
    actions.add_argument(
        "--install",
        metavar=_("NAME|FILE"),
        help=_("install an engine: a published one ({names}) or a wheel from a file").format(
            names=", ".join(sorted(SETS))
        ),
    )
    actions.add_argument(
        "--use", metavar=_("NAME"), help=_("use this engine from now on; own: the program's own one")
    )
    actions.add_argument("--remove", metavar=_("NAME"), help=_("remove an engine"))
    group.add_argument("--json", action="store_true", help=_("write one JSON object instead of text"))


def run(options: argparse.Namespace, data: DataFolder, screen: Screen) -> ExitCode:
    """Do the one thing that was asked for.

    Raises:
        CloverError: it did not work; nothing was changed.
    """
    store = FlavourStore(data.engines)
    store.sweep()
    if options.install:
        data.ensure_writable()
        file = None if options.install in SETS else expanded(options.install).absolute()
        flavour = asyncio.run(_install(options.install, file, store, data, screen))
        _choose(flavour.key, data)
        screen.note(_("Installed and chosen: {title}.").format(title=flavour_title(flavour)))
    elif options.use is not None:
        if not _is_there(options.use, store):
            return _unknown(options.use, options, screen)
        _choose(BUILT_IN if options.use == OWN else options.use, data)
    elif options.remove is not None:
        if options.remove == OWN:
            text = _("The program's own engine cannot be removed: it is taken when no other one works.")
            return refuse(screen, text, options)
        if store.get(options.remove) is None:
            return _unknown(options.remove, options, screen)
        if _settings(data).engine_flavour == options.remove:
            _choose(BUILT_IN, data)
        store.remove(options.remove)
    _report(store, data, screen, options.json)
    return ExitCode.OK


async def _install(
    set_name: str, file: Path | None, store: FlavourStore, data: DataFolder, screen: Screen
) -> Flavour:
    machine = await asyncio.to_thread(probe_machine, data.root)

    def tell(progress: Progress) -> None:
        screen.progress(progress_text(progress))

    installer = Installer(store, this_platform(), machine.processor.features, tell)
    try:
        if file is not None:
            return await installer.from_file(file)
        proxy = _settings(data).proxy
        found = await installer.look_up(set_name, index_address(), proxy)
        screen.note(
            _("{name}: {size} from {host}").format(
                name=capped(found.wheel.file_name),
                size=file_size(found.size_bytes),
                host=capped(found.wheel.host),
            )
        )
        return await installer.from_index(found.wheel, proxy)
    finally:
        screen.clear_progress()


def _settings(data: DataFolder) -> settings_file.Settings:
    return settings_file.load(data.settings).settings


def _choose(key: str, data: DataFolder) -> None:
    settings_file.save(data.settings, dataclasses.replace(_settings(data), engine_flavour=key))


def _is_there(name: str, store: FlavourStore) -> bool:
    return name == OWN or store.get(name) is not None


def _unknown(name: str, options: argparse.Namespace, screen: Screen) -> ExitCode:
    text = _("There is no engine {name}. clover-gui engine lists them.").format(name=capped(name))
    return refuse(screen, text, options)


def _report(store: FlavourStore, data: DataFolder, screen: Screen, as_json: bool) -> None:
    machine, backends = probe_machine(data.root), probe_backends()
    chosen = _settings(data).engine_flavour
    fitting = suggestions(machine, backends)
    if as_json:
        report: dict[str, Any] = {
            "version": ENGINE_VERSION,
            "chosen": chosen or OWN,
            "installed": [_own_as_json(), *(_as_json(flavour, store) for flavour in store.all())],
            "fitting": [dataclasses.asdict(one) for one in fitting],
            "obstacles": [dataclasses.asdict(one) for one in obstacles(machine, backends)],
        }
        screen.write(json.dumps(report, ensure_ascii=False, indent=2) + "\n")
        return
    lines = [screen.bold(_("Installed engines"))]
    for flavour in (None, *store.all()):
        key = flavour.key if flavour else OWN
        mark = "*" if (flavour.key if flavour else BUILT_IN) == chosen else " "
        lines.append(f"{mark} {key}: {flavour_title(flavour)}")
        if flavour is not None:
            lines += [
                f"    {flavour_facts(flavour)}",
                f"    {flavour_devices(flavour.backend, flavour.devices)}",
            ]
            lines += [f"    {text}" for text in _missing(flavour, store)]
    lines += ["", screen.bold(_("What this machine could use"))]
    lines += [f"  {one.set_name}: {suitable_text(one)}" for one in fitting]
    lines += [f"  {obstacle_text(one)}" for one in obstacles(machine, backends)]
    screen.write("\n".join(lines) + "\n")


def _missing(flavour: Flavour, store: FlavourStore) -> list[str]:
    missing = flavour.missing_files(store.library_folder(flavour.key))
    if not missing:
        return []
    text = _("A library is missing: {name}. Install this engine again, or remove it.")
    return [text.format(name=capped(missing[0]))]


def _own_as_json() -> dict[str, Any]:
    return {"key": OWN, "name": OWN, "engine_version": ENGINE_VERSION, "missing": [], "removable": False}


def _as_json(flavour: Flavour, store: FlavourStore) -> dict[str, Any]:
    value = dataclasses.asdict(flavour)
    value["key"] = flavour.key
    value["removable"] = True
    value["size_bytes"] = flavour.size_bytes
    value["missing"] = list(flavour.missing_files(store.library_folder(flavour.key)))
    return value
