"""One engine and one chat in memory, driven by the options of the command line."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

from clover_gui.catalog.index import load_catalog
from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.context import ContextCheck
from clover_gui.chat.continuing import can_continue
from clover_gui.chat.events import AnswerEnded, ChatEvent
from clover_gui.chat.presets import Preset
from clover_gui.chat.session import ChatSession
from clover_gui.cli.answer_printer import AnswerPrinter, turn_as_json
from clover_gui.cli.interrupts import stop_on_interrupt
from clover_gui.cli.screen import Screen
from clover_gui.engine.client import EngineClient
from clover_gui.engine.protocol import Limits, Sampling
from clover_gui.errors import ModelNotLoaded
from clover_gui.exit_codes import ExitCode
from clover_gui.explain import (
    describe_measure,
    describe_model,
    describe_plan,
    dry_run_text,
    replan_text,
    template_text,
    warning_text,
)
from clover_gui.i18n import _, capped, duration, number
from clover_gui.pipeline.prepare import (
    Loading,
    ModelRead,
    PlanChecked,
    Planned,
    ReadyToChat,
    Replanned,
    Services,
    prepare,
)
from clover_gui.pipeline.sampling_defaults import default_sampling
from clover_gui.planning.plan import Wishes


@dataclass(slots=True)
class _Ready:
    """What there is once the model is loaded."""

    event: ReadyToChat
    store: AsyncChatStore
    session: ChatSession


class TerminalChat:
    """One engine, one chat in memory, and the options of the command line."""

    def __init__(
        self,
        options: argparse.Namespace,
        screen: Screen,
        engine: EngineClient,
        services: Services,
        preset: Preset | None = None,
    ) -> None:
        """``engine`` is closed at the end; ``services`` hold what was measured on this machine before. What
        the options say goes before ``preset``."""
        self._options = options
        self._preset = preset or Preset()
        self._screen = screen
        self._services = services
        self._engine = engine
        self._catalog = load_catalog()
        self._ready: _Ready | None = None
        self._turn = 0
        self.thinking = not options.no_think and self._preset.thinking is not False

    async def open(self, model_path: Path, disk_path: Path, wishes: Wishes) -> None:
        """Prepare everything; tells on the error stream how it goes."""
        stages = prepare(self._engine, model_path, disk_path, wishes, self._services)
        async with contextlib.aclosing(stages):
            async for stage in stages:
                if isinstance(stage, ModelRead):
                    self._screen.note(describe_model(stage.model)[0])
                elif isinstance(stage, Planned):
                    self._screen.note(describe_plan(stage.plan)[0])
                    for word in stage.plan.warnings:
                        self._screen.note(warning_text(word))
                elif isinstance(stage, PlanChecked):
                    if text := dry_run_text(stage.dry_run.end.value):
                        self._screen.note(text)
                elif isinstance(stage, Replanned):
                    self._screen.note(replan_text(stage.reason, stage.before, stage.plan))
                    self._screen.note(describe_plan(stage.plan)[0])
                elif isinstance(stage, Loading):
                    self._screen.progress(_loading_text(stage))
                elif isinstance(stage, ReadyToChat):
                    await self._begin(stage)

    async def _begin(self, event: ReadyToChat) -> None:
        store = AsyncChatStore.in_memory()
        chat = await store.create_chat(system_prompt=self._instructions)
        session = ChatSession(self._engine, store, chat)
        self._ready = _Ready(event, store, session)
        loaded = event.loaded
        self._screen.note(
            _("Ready after {time}, {count} tokens of context.").format(
                time=duration(loaded.seconds), count=number(loaded.context)
            )
        )
        if event.measured is not None:
            for device in event.measured.devices:
                self._screen.note(describe_measure(device.name, device.planned_bytes, device.measured_bytes))
            for word in event.measured.warnings:
                self._screen.note(warning_text(word))
        if not self.thinking and not loaded.can_switch_thinking:
            self._screen.note(no_switch_text())
        if text := template_text(loaded.template, loaded.template_error):
            self._screen.note(text)
            if loaded.template_error:
                self._screen.note(f"    {capped(loaded.template_error)}")

    @property
    def _instructions(self) -> str:
        told = self._options.system
        return self._preset.instructions if told is None else str(told)

    @property
    def can_switch_thinking(self) -> bool:
        return self._loaded().event.loaded.can_switch_thinking

    async def new_chat(self) -> None:
        ready = self._loaded()
        chat = await ready.store.create_chat(system_prompt=ready.session.chat.system_prompt)
        ready.session = ChatSession(self._engine, ready.store, chat)

    async def set_system_prompt(self, text: str) -> None:
        """What the model is told before everything else in this chat; empty: nothing."""
        ready = self._loaded()
        ready.session.chat = await ready.store.set_system_prompt(ready.session.chat.id, text)

    async def check(self, prompt: str) -> ContextCheck:
        """Whether this message fits into the context."""
        await self._load_again_if_needed()
        return await self._loaded().session.check(prompt, thinking=self._thinking_wish())

    async def answer_all(self, prompts: list[str]) -> ExitCode:
        """Every prompt is a turn; ends early when one is stopped with Ctrl+C."""
        for prompt in prompts:
            if await self.answer(prompt):
                return ExitCode.INTERRUPTED
        return ExitCode.OK

    async def answer(self, prompt: str, *, drop_oldest: int = 0) -> bool:
        """One turn. Whether it was stopped with Ctrl+C."""
        session = self._loaded().session
        await self._load_again_if_needed()
        self._turn += 1
        events = session.send(
            prompt,
            thinking=self._thinking_wish(),
            sampling=self._sampling(),
            max_tokens=self._options.max_tokens,
            limits=self._limits(),
            drop_oldest=drop_oldest,
        )
        return await self._show(events)

    async def can_go_on(self) -> bool:
        """Whether the chat ends in an answer that was stopped or cut."""
        ready = self._loaded()
        messages = await ready.store.messages(ready.session.chat.id)
        return bool(messages) and can_continue(messages[-1])

    async def go_on(self) -> bool:
        """The rest of an answer that was cut. Whether it was stopped with Ctrl+C."""
        await self._load_again_if_needed()
        events = self._loaded().session.go_on(
            thinking=self._thinking_wish(),
            sampling=self._sampling(),
            max_tokens=self._options.max_tokens,
            limits=self._limits(),
        )
        return await self._show(events)

    async def _show(self, events: AsyncGenerator[ChatEvent, None]) -> bool:
        ready = self._loaded()
        printer = AnswerPrinter(self._screen, ready.event.loaded.context)
        with stop_on_interrupt(ready.session.stop) as interrupts:
            async with contextlib.aclosing(events):
                try:
                    async for event in events:
                        if isinstance(event, AnswerEnded):
                            self._learn_speed(event)
                        if not self._options.json:
                            printer.show(event)
                        elif isinstance(event, AnswerEnded):
                            line = json.dumps(turn_as_json(self._turn, event), ensure_ascii=False)
                            self._screen.write(line + "\n")
                except BaseException:
                    printer.close()
                    raise
            return interrupts() > 0

    def _learn_speed(self, ended: AnswerEnded) -> None:
        stats, event = ended.message.stats, self._loaded().event
        if stats is not None:
            known = self._services.measurements
            known.learn_speed(event.model, event.plan, stats.tokens_written, stats.write_seconds)

    def _thinking_wish(self) -> bool | None:
        return self.thinking if self._loaded().event.loaded.can_switch_thinking else None

    def _sampling(self) -> Sampling:
        options, own = self._options, self._preset.options
        usual = default_sampling(
            self._catalog,
            self._loaded().event.model,
            thinking=bool(self._thinking_wish()),
            precise=options.precise or own.precise,
            greedy=options.greedy,
        )
        sampling = usual if options.greedy else own.sampling(usual)
        seed = own.seed if options.seed is None else options.seed
        return dataclasses.replace(sampling, seed=seed, json_only=options.json_answer or own.json_only)

    def _limits(self) -> Limits:
        limits = dataclasses.replace(
            self._preset.options.limits(), stop_strings=tuple(self._options.stop or ())
        )
        budget = self._options.thinking_budget
        return limits if budget is None else dataclasses.replace(limits, thinking_tokens=budget)

    async def _load_again_if_needed(self) -> None:
        """After the engine died: the same model with the same settings."""
        settings = self._engine.last_settings
        if self._engine.loaded is None and settings is not None:
            self._screen.note(_("The engine is started anew."))
            await self._engine.load(settings)

    def _loaded(self) -> _Ready:
        if self._ready is None:
            raise ModelNotLoaded
        return self._ready

    async def close(self) -> None:
        self._screen.clear_progress()
        self._services.measurements.save()
        await self._engine.close()
        if self._ready is not None:
            await self._ready.store.close()


def no_switch_text() -> str:
    return _("The template of this model has no switch for thinking.")


def _loading_text(stage: Loading) -> str:
    texts = {
        "reading": _("loading the model"),
        "context": _("preparing the context"),
        "warm-up": _("warming up"),
    }
    text = texts.get(stage.progress.stage, texts["reading"])
    fraction = stage.progress.fraction
    return f"{text} …" if fraction is None else f"{text} … {number(100 * fraction)} %"
