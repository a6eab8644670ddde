"""Pictures of what the window says on machines with other graphics devices than this one.

    python -m tests.benchmarks.gpu_scenes FOLDER [--dark] [--language de] [--only NAME ...]

A scripted NVIDIA driver, the real probes, the real choice of devices, the real planner with the shape of
Clover, and the real pages (offscreen). One PNG for each scene; the texts of a scene are printed beside it.
The memory panel of the chat has its own pictures: ``panel_scenes.py``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication, QLabel, QVBoxLayout, QWidget

from clover_gui import i18n
from clover_gui.catalog.entry import FoundModel
from clover_gui.catalog.index import load_catalog
from clover_gui.engine.protocol import EngineDevice, EngineInfo, LoadProgress
from clover_gui.errors import DoesNotFitError
from clover_gui.explain import refit_text
from clover_gui.hardware.machine import Disk, Gpu, Machine, Memory, Processor
from clover_gui.hardware.nvidia import Nvml, probe_nvidia
from clover_gui.hardware.watch import VramWatcher
from clover_gui.pipeline.gpu_choice import choose_gpu
from clover_gui.pipeline.placing_events import Loading, Placed, Planned
from clover_gui.pipeline.prepare import EngineDescribed, MachineProbed, ModelRead
from clover_gui.planning.clover_shape import clover_shape
from clover_gui.planning.fit_watch import FitWatch
from clover_gui.planning.plan import FitPlan, Speed, Wishes
from clover_gui.ui.gauges.readings import ContextReading, MemoryLevel, MemoryReading, SpeedReading, sum_of
from clover_gui.ui.gauges.strip import GaugeStrip
from clover_gui.ui.setup.choices import FETCH, model_choices
from clover_gui.ui.setup.setup_display import SetupDisplay
from clover_gui.ui.setup.setup_page import SetupPage
from clover_gui.ui.setup.words import ahead_note, known_rows
from clover_gui.ui.theme import Mode, Theme
from clover_gui.ui.widgets.notice_bar import NoticeBar, NoticeKind
from clover_gui.ui.window_style import window_style
from tests.hardware.fake_nvml import FakeDevice, FakeNvml, FakeProcess
from tests.hardware.sysfs import add_driver_library
from tests.pipeline.scripted import ScriptedEngine, ScriptedMemory, placed, services

GIB = 1 << 30
DESKTOP = Processor("AMD Ryzen 7 5800X", "x86_64", 8, 16, frozenset({"avx2", "fma"}))
CPU = EngineDevice("CPU", "AMD Ryzen 7 5800X", "CPU", "cpu", 20 * GIB, 32 * GIB)
OURS = 4711
SMALL = FakeDevice("NVIDIA GeForce GT 1030", total=2 * GIB, used=GIB // 4, bus="00000000:02:00.0", display=0)


@dataclass(frozen=True)
class Scene:
    """``devices`` of the driver; ``asleep`` and ``cards_of_engine`` (None: all that work) by their number.

    ``taken_gib`` is what other programs take between plan and load; ``spill``: answers come at a tenth.
    ``away``: the file is not here, and only the page is shown that offers to bring it.
    """

    devices: tuple[FakeDevice, ...] = ()
    ram_gib: float = 32
    cards_of_engine: int | None = None
    offload: bool = True
    asleep: bool = False
    driver: bool = True
    taken_gib: float = 0.0
    spill: bool = False
    wishes: Wishes = field(default_factory=Wishes)
    away: bool = False


def card(name: str, total_gib: float, used_gib: float, number: int = 1) -> FakeDevice:
    return FakeDevice(
        f"NVIDIA GeForce {name}", int(total_gib * GIB), int(used_gib * GIB), f"00000000:0{number}:00.0"
    )


def scenes() -> dict[str, Scene]:
    gb10 = FakeDevice("NVIDIA GB10", memory_error=3)
    return {
        "not-here-yet": Scene((card("RTX 4080", 16, 0),), away=True),
        "one-card-16": Scene((card("RTX 4060 Ti", 16, 0.8),)),
        "two-cards": Scene((card("RTX 3060", 12, 0.6, 1), card("RTX 3080", 10, 0.3, 2))),
        "one-of-two-cards": Scene(
            (card("RTX 3060", 12, 0.6, 1), card("RTX 3080", 10, 0.3, 2)),
            wishes=Wishes(graphics="0000:02:00.0 NVIDIA GeForce RTX 3080"),
        ),
        "weak-second-card": Scene((card("RTX 4090", 24, 0.9), SMALL)),
        "card-lost": Scene((FakeDevice(error=15),)),
        "memory-taken": Scene((card("RTX 4060 Ti", 16, 1.0),), taken_gib=9),
        "spill": Scene((card("RTX 4060 Ti", 16, 0.8),), spill=True),
        "unified": Scene((gb10,), ram_gib=120),
        "asleep": Scene((card("RTX 4070 Laptop", 8, 0.01),), asleep=True),
        "no-gpu": Scene(driver=False),
        "cpu-only-engine": Scene((card("RTX 4060 Ti", 16, 0.8),), cards_of_engine=0, offload=False),
        "does-not-fit": Scene((card("GTX 1650", 4, 0.4),), ram_gib=8),
        "does-not-fit-by-hand": Scene(
            (card("RTX 4060 Ti", 16, 0.8),), wishes=Wishes(context=131072, cpu_expert_layers=8)
        ),
    }


class Stage:
    """The set-up page, a notice as the chat has it, and the gauges."""

    def __init__(self, theme: Theme) -> None:
        self.root = QWidget()
        self.page = SetupPage(theme)
        self.notice = NoticeBar()
        self.gauges = GaugeStrip(theme)
        layout = QVBoxLayout(self.root)
        layout.setContentsMargins(0, 0, 0, 8)
        layout.addWidget(self.page, 1)
        layout.addWidget(self.notice)
        layout.addWidget(self.gauges)
        self.root.setStyleSheet(window_style(theme.colors, theme.em, self.root.font().pointSizeF()))
        self.graphics = ""
        self.display = SetupDisplay(self.page, self.page.show_progress, lambda: self.graphics)

    def texts(self) -> list[str]:
        """Everything that the scene says."""
        page = self.page
        said = [*page.machine_card.texts(), *page.plan_card.texts()]
        said += [" ".join(bar) for bar in page.plan_card.bars]
        if not page.notice.isHidden():
            said.append(page.notice.label.text())
        said.append(page.progress_label.text())
        if not self.notice.isHidden():
            said.append(self.notice.label.text())
        for gauge in (self.gauges.vram, self.gauges.ram):
            said.append(f"{gauge.accessibleName()} | {gauge.toolTip()}")
        return [text for text in said if text]

    def labels(self) -> list[QLabel]:
        return self.root.findChildren(QLabel)


def machine_of(scene: Scene, nvml: FakeNvml, root: Path) -> Machine:
    memory = Memory(int(scene.ram_gib * GIB), int(scene.ram_gib * GIB * 0.87))
    if scene.driver:
        add_driver_library(root)
    gpus, notes = probe_nvidia(memory, root, "linux", lambda _root: cast(Nvml, nvml))
    gpus = tuple(replace(gpu, was_asleep=scene.asleep) for gpu in gpus)
    return Machine("Linux", DESKTOP, memory, Disk("/", 10**12, 4 * 10**11), gpus, notes)


def engine_of(scene: Scene, machine: Machine) -> EngineInfo:
    count = len(machine.gpus) if scene.cards_of_engine is None else scene.cards_of_engine
    devices = tuple(
        EngineDevice(f"CUDA{n}", gpu.name, "CUDA", "gpu", gpu.vram_free_bytes or 0, gpu.vram_total_bytes or 0)
        for n, gpu in enumerate(machine.gpus[:count])
    )
    return EngineInfo(1, "0.3.36", scene.offload, (*devices, CPU), {"qwen35moe": True, "clover_moe": False})


async def play(scene: Scene, stage: Stage, root: Path) -> None:
    """From the first look to the loaded model, as far as this machine gets."""
    nvml = FakeNvml(*scene.devices)
    machine = machine_of(scene, nvml, root)
    info = engine_of(scene, machine)
    model = replace(clover_shape(), path=Path("Clover-35B-A3B-Q4_K.gguf"), chat_template="x")
    display, page = stage.display, stage.page
    stage.graphics = scene.wishes.graphics
    display.show(MachineProbed(machine))
    display.show(EngineDescribed(info, choose_gpu(machine, info, stage.graphics)))
    page.set_busy(False, can_start=True)
    if scene.away:
        show_choice(stage)
    display.show(ModelRead(model, ahead=scene.away))
    engine = ScriptedEngine(gpus=machine.gpus[: len(info.devices) - 1])
    reads = [gpu.vram_free_bytes or 0 for gpu in machine.gpus]
    memory = None
    if len(reads) == 1 and machine.gpus[0].source == "nvml" and scene.taken_gib:
        total = machine.gpus[0].vram_total_bytes or 0
        memory = ScriptedMemory(reads[0], int(reads[0] - scene.taken_gib * GIB), total=total)
    try:
        planned, events = await placed(engine, machine, model, services(machine, memory), scene.wishes)
    except DoesNotFitError as error:
        display.show_refusal(error)
        page.set_busy(False, can_start=False)
        stage.gauges.show_memory(reading(machine, None, nvml, scene, root))
        return
    display.show(Planned(planned.plan, planned.settings))
    if scene.away:
        return
    plan = planned.plan
    for event in events:
        if isinstance(event, Placed):
            plan = event.plan
        elif not isinstance(event, Loading):
            display.show(event)
            page.set_busy(True, can_start=False)
    if scene.taken_gib:
        page.progress_bar.show()
        display.show(Loading(LoadProgress(1, 0.4, "reading")))
    run(stage, machine, plan, nvml, scene, root)


def show_choice(stage: Stage) -> None:
    """Clover among the models that can be brought here, beside the small one that came along."""
    catalog, page = load_catalog(), stage.page
    demo, clover = catalog.entry("demo"), catalog.entry("clover")
    assert demo is not None
    assert clover is not None
    here = FoundModel(demo, Path("/models") / demo.package_file, demo.size_bytes, "package")
    page.model_card.show_choices(model_choices(catalog, (here,), ()), FETCH + clover.id)
    stage.display.show_away(known_rows(clover, clover_shape()), [(ahead_note(known=True), False)])
    text = i18n._("Download {size} and start").format(size=i18n.file_size(clover.size_bytes))
    page.set_busy(False, can_start=True, start_text=text)
    stage.gauges.hide()


def run(stage: Stage, machine: Machine, plan: FitPlan, nvml: FakeNvml, scene: Scene, root: Path) -> None:
    """The gauges a minute after the load, and the offer where it came to that."""
    gauges = stage.gauges
    gauges.show_plan(plan)
    usual = plan.speed.tokens_per_second if plan.speed else 0.0
    now = usual / 10 if scene.spill else usual
    for second in range(60):
        gauges.show_memory(reading(machine, plan, nvml, scene, root, filled=min(1.0, second / 20)))
        gauges.show_speed(SpeedReading(usual if second < 40 else now, usual, 40 * usual))
    gauges.show_context(ContextReading(5_200, plan.context))
    if scene.spill:
        watch = FitWatch(replace(plan, speed=Speed(usual, usual, usual, measured=True)))
        offers = [watch.answer(200, 200 / now) for _answer in range(4)]
        made = [offer for offer in offers if offer is not None]
        assert len(made) == 1, "one calm offer, and never a loop"
        stage.notice.show_notice(refit_text(made[0]), NoticeKind.WARNING, ("refit", i18n._("Load again")))


def reading(
    machine: Machine,
    plan: FitPlan | None,
    nvml: FakeNvml,
    scene: Scene,
    root: Path,
    filled: float = 1.0,
) -> MemoryReading:
    """One look of the gauges through the real watcher: other programs as before, ours as planned."""
    ours = int(filled * (plan.ram.buffers + plan.ram.overhead - plan.ram.weights)) if plan else 0
    mapped = int(filled * plan.ram.weights) if plan else 0
    unified = plan is not None and any(share.unified for share in plan.devices)
    taken_by_gpu = int(filled * plan.gpu.total) if plan and unified else 0
    free = machine.memory.available_bytes - ours - taken_by_gpu
    ram = MemoryLevel(machine.memory.total_bytes, free, ours, mapped)
    cards = []
    for share in plan.devices if plan else ():
        gpu: Gpu = next(gpu for gpu in machine.gpus if gpu.bus_id == share.bus_id)
        device = nvml.devices[gpu.index]
        needed = int(filled * share.need.total)
        used = device.used + int(scene.taken_gib * GIB) + needed
        nvml.devices[gpu.index] = replace(device, used=used, compute=[FakeProcess(OURS, needed)])
        found = VramWatcher(gpu, root, lambda _root: cast(Nvml, nvml)).read([OURS])
        nvml.devices[gpu.index] = device
        if found is not None:
            cards.append(MemoryLevel(found.total, found.free, found.ours_bytes))
    return MemoryReading(ram, sum_of(cards), tuple(cards))


def show(name: str, theme: Theme, after: Callable[[Stage], None]) -> None:
    """Build one scene and hand it over; the widgets live until then."""
    stage = Stage(theme)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(scenes()[name], stage, Path(folder)))
    after(stage)
    stage.root.deleteLater()


def main() -> int:
    parser = argparse.ArgumentParser(description="Pictures of other machines.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--language", default="en")
    parser.add_argument("--width", type=int, default=980)
    parser.add_argument("--height", type=int, default=1150)
    parser.add_argument("--only", nargs="*", default=sorted(scenes()), choices=sorted(scenes()))
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    qt = QApplication(["clover-gui"])
    i18n.set_language(arguments.language)
    theme = Theme()
    theme.apply(qt, Mode.DARK if arguments.dark else Mode.LIGHT)
    for name in arguments.only:

        def save(stage: Stage, name: str = name) -> None:
            stage.root.resize(arguments.width, arguments.height)
            stage.root.show()
            stage.page.start_button.setFocus()
            for _round in range(3):
                qt.processEvents()
            stage.root.grab().save(str(arguments.folder / f"{name}.png"))
            print(f"== {name}", *stage.texts(), sep="\n  ")

        show(name, theme, save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
