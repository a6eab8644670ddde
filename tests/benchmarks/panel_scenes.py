"""Pictures of the memory panel beside the chat, on machines with other graphics cards than this one.

    python -m tests.benchmarks.panel_scenes FOLDER [--dark] [--language de] [--width N] [--height N]

As in ``gpu_scenes.py``: a scripted driver and engine, the real planner with the shape of Clover, the real
page (offscreen). One PNG for each scene; the texts of the panel are printed beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication

from clover_gui import i18n
from clover_gui.engine.protocol import BufferBytes, EngineInfo, Loaded, LoadProgress, LoadSettings
from clover_gui.hardware.machine import Gpu, Machine
from clover_gui.hardware.watch import VramReading
from clover_gui.pipeline.free_memory import FreeMemory
from clover_gui.pipeline.gpu_choice import choose_gpu, gpu_id
from clover_gui.pipeline.measurements import Measurements
from clover_gui.pipeline.placing import Placer
from clover_gui.pipeline.placing_events import Placed
from clover_gui.pipeline.prepare import ReadyToChat
from clover_gui.pipeline.services import Services
from clover_gui.planning.clover_shape import clover_shape
from clover_gui.planning.plan import FitPlan, KvType, Wishes
from clover_gui.ui.chat.chat_page import ChatPage
from clover_gui.ui.chat.history import HistoryMessage
from clover_gui.ui.gauges.readings import ContextReading, SpeedReading
from clover_gui.ui.memory.panel_presenter import MemoryPanelPresenter
from clover_gui.ui.setup.plan_controls import PlanWishes
from clover_gui.ui.tasks import TaskSet
from clover_gui.ui.theme import Mode, Theme
from clover_gui.ui.window_style import window_style
from tests.benchmarks.gpu_scenes import Scene, card, engine_of, machine_of, reading
from tests.hardware.fake_nvml import FakeNvml
from tests.pipeline.scripted import ScriptedEngine

MIB = 1 << 20
DRIVER_TAKES = 520 * MIB


@dataclass(frozen=True)
class PanelScene:
    """``machine`` with Clover loaded as planned for ``wishes`` (unless ``loaded`` is False); then ``tried``
    is set in the panel, with ``only`` as the number of the one card to use."""

    machine: Scene
    loaded: bool = True
    wishes: Wishes = field(default_factory=Wishes)
    tried: PlanWishes | None = None
    only: int | None = None
    answering: bool = False


def panel_scenes() -> dict[str, PanelScene]:
    one = Scene((card("RTX 4060 Ti", 16, 0.8),))
    two = Scene((card("RTX 3060", 12, 0.6, 1), card("RTX 3080", 10, 0.3, 2)))
    return {
        "panel-nothing": PanelScene(one, loaded=False),
        "panel-loaded": PanelScene(one),
        "panel-tried": PanelScene(one, tried=PlanWishes(65536, KvType.Q8_0), answering=True),
        "panel-does-not-fit": PanelScene(one, tried=PlanWishes(131072, cpu_expert_layers=8)),
        "panel-two-cards": PanelScene(two),
        "panel-one-of-two": PanelScene(two, tried=PlanWishes(), only=0),
        "panel-missing-card": PanelScene(one, wishes=Wishes(graphics="0000:41:00.0 NVIDIA RTX 3090")),
    }


class Cards:
    """What the driver tells of each card: other programs as before, and what our engine holds."""

    def __init__(self, machine: Machine) -> None:
        self._free = {gpu.bus_id: gpu.vram_free_bytes or 0 for gpu in machine.gpus}
        self._ours: dict[str, int] = {}

    def hold(self, plan: FitPlan) -> None:
        """The engine has loaded this plan."""
        self._ours = {share.bus_id: share.need.buffers + DRIVER_TAKES for share in plan.devices}

    def read(self, gpu: Gpu, _pids: Collection[int]) -> VramReading:
        ours = self._ours.get(gpu.bus_id, 0)
        total, free = gpu.vram_total_bytes or 0, self._free[gpu.bus_id] - ours
        return VramReading(total, total - free, free, ours)


class CardEngine(ScriptedEngine):
    """Puts on the cards what its settings were planned for."""

    def expect(self, plan: FitPlan, cards: Cards) -> None:
        """The next load holds this."""
        needs = [(share.engine_name, False, share.need) for share in plan.devices]
        self.buffers = tuple(
            BufferBytes(name, name, host, need.weights, need.kv + need.recurrent, need.compute + need.output)
            for name, host, need in (*needs, ("CPU", True, plan.ram))
        )
        self.hold: Callable[[], None] = lambda: cards.hold(plan)

    async def load(
        self, settings: LoadSettings, progress: Callable[[LoadProgress], None] | None = None
    ) -> Loaded:
        loaded = await super().load(settings, progress)
        self.hold()
        return loaded


class PanelStage:
    """The chat page with its panel, the panel's presenter, and what that asked for."""

    def __init__(self, theme: Theme) -> None:
        self.page = ChatPage(theme)
        self.page.setStyleSheet(window_style(theme.colors, theme.em, self.page.font().pointSizeF()))
        self.panel = self.page.memory_panel
        self.asked: list[PlanWishes] = []
        self.machine: Machine | None = None
        self.ready: ReadyToChat | None = None

    async def play(self, scene: PanelScene, root: Path) -> None:
        """Load, open the panel, and try what the scene tries."""
        nvml = FakeNvml(*scene.machine.devices)
        self.machine = machine = machine_of(scene.machine, nvml, root)
        cards = Cards(machine)
        free = FreeMemory(read_vram=cards.read, read_ram=lambda: machine.memory)
        services = Services(None, Measurements(), free)
        engine = CardEngine(gpus=machine.gpus)
        errors: list[BaseException] = []
        tasks = TaskSet(errors.append)
        presenter = MemoryPanelPresenter(self.panel, engine, tasks, lambda: scene.wishes, lambda: services)
        presenter.reload_requested.connect(self.asked.append)
        self.page.memory_panel_toggled.connect(presenter.set_open)
        self.presenter = presenter
        self.page.open_memory_panel()
        if scene.loaded:
            info = engine_of(scene.machine, machine)
            self.ready = await loaded(engine, machine, info, scene.wishes, services, cards)
            presenter.model_loaded(self.ready, PlanWishes())
            self._show_chat(self.ready, scene.machine, nvml, root)
        presenter.set_answering(scene.answering)
        if scene.tried is not None:
            tried = scene.tried
            if scene.only is not None:
                tried = replace(tried, graphics=gpu_id(machine.gpus[scene.only]))
            await self.try_out(tried)
        await tasks.cancel_all()
        assert not errors, errors

    async def try_out(self, wishes: PlanWishes) -> None:
        """Set this in the panel as a person does, and wait until it is planned."""
        done = asyncio.Event()
        self.presenter.shown.connect(done.set)
        self.panel.controls.show_wishes(wishes)
        self.panel.controls.changed.emit(self.panel.controls.wishes)
        await asyncio.wait_for(done.wait(), 20)
        self.presenter.shown.disconnect(done.set)

    def _show_chat(self, ready: ReadyToChat, scene: Scene, nvml: FakeNvml, root: Path) -> None:
        page = self.page
        page.show_model("Clover 35B A3B", "")
        page.composer.set_state(ready=True, answering=False)
        page.show_welcome(False)
        page.messages.set_history(
            [
                HistoryMessage(True, "Why is the sky blue?"),
                HistoryMessage(False, "Air scatters **short** waves of light more than long ones."),
            ]
        )
        page.gauges.show_plan(ready.plan)
        for second in range(60):
            filled = min(1.0, second / 20)
            page.gauges.show_memory(reading(ready.machine, ready.plan, nvml, scene, root, filled))
            page.gauges.show_speed(SpeedReading(58.0 + second % 5, 59.0, 2400.0))
        page.gauges.show_context(ContextReading(5_200, ready.plan.context))


async def loaded(
    engine: CardEngine,
    machine: Machine,
    info: EngineInfo,
    wishes: Wishes,
    services: Services,
    cards: Cards,
) -> ReadyToChat:
    """Clover on this machine, as the real planner wants it."""
    model = replace(clover_shape(), path=Path("Clover-35B-A3B-Q4_K.gguf"), chat_template="x")
    placer = Placer(engine, machine, model, wishes, choose_gpu(machine, info, wishes.graphics), services)
    planned = await placer.plan()
    engine.expect(planned.plan, cards)
    placed = [event async for event in placer.place(planned) if isinstance(event, Placed)][-1]
    return ReadyToChat(
        placed.machine, model, placed.plan, placed.loaded, placed.measured, placed.gpus, info, wishes
    )


def show_panel(name: str, theme: Theme, after: Callable[[PanelStage], None]) -> None:
    """Build one scene and hand it over; the widgets live until then."""
    stage = PanelStage(theme)
    stage.page.resize(1280, 900)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(stage.play(panel_scenes()[name], Path(folder)))
    after(stage)
    stage.page.deleteLater()


def main() -> int:
    parser = argparse.ArgumentParser(description="Pictures of the memory panel.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--language", default="en")
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=900)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    qt = QApplication(["clover-gui"])
    i18n.set_language(arguments.language)
    theme = Theme()
    theme.apply(qt, Mode.DARK if arguments.dark else Mode.LIGHT)
    for name in panel_scenes():

        def save(stage: PanelStage, name: str = name) -> None:
            stage.page.resize(arguments.width, arguments.height)
            stage.page.show()
            for _round in range(4):
                qt.processEvents()
            stage.page.grab().save(str(arguments.folder / f"{name}.png"))
            print(f"== {name}", *stage.panel.texts, sep="\n  ")

        show_panel(name, theme, save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
