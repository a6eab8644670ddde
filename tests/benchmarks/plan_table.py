"""Prints what fits on cards of 8 to 80 GB with 16, 32 and 64 GB of RAM, line by line, and checks its laws.

    python -m tests.benchmarks.plan_table [--gguf FILE] [--context N] [--markdown]

Cards are empty and all of one speed, so that the lines can be compared. Ends with an error where a plan is
over its budget, or where more graphics memory means fewer experts there or less speed.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clover_gui.cli.plan import described_ram
from clover_gui.hardware.machine import DeviceKind, Gpu, Machine, Processor
from clover_gui.model_file.header import read_model_file
from clover_gui.model_file.summary import ModelFile
from clover_gui.planning.clover_shape import clover_shape
from clover_gui.planning.plan import DoesNotFit, FitPlan, Wishes
from clover_gui.planning.planner import make_plan

GIB = 1 << 30
CARDS_GIB = (8, 10, 11, 12, 16, 20, 24, 32, 48, 80)
RAM_GIB = (16, 32, 64)
DESKTOP = Processor("desktop", "x86_64", 8, 16, frozenset({"avx2"}))
HEAD = ("card", "RAM", "placement", "experts in RAM", "context", "KV", "GPU GiB", "RAM GiB", "tok/s", "ms")


@dataclass(frozen=True, slots=True)
class Line:
    """One machine and its plan; ``seconds`` is the time that planning took."""

    vram_gib: int
    ram_gib: int
    plan: FitPlan | DoesNotFit
    seconds: float

    def cells(self) -> tuple[str, ...]:
        head, plan = (str(self.vram_gib), str(self.ram_gib)), self.plan
        cost = f"{1000 * self.seconds:.1f}"
        if isinstance(plan, DoesNotFit):
            missing = f"does not fit: {plan.missing_bytes / GIB:.1f} GiB of {plan.where} missing"
            return (*head, missing, "", "", "", "", "", "", cost)
        assert plan.speed is not None
        return (
            *head,
            plan.placement.value,
            str(plan.cpu_expert_layers),
            str(plan.context),
            plan.kv_type.value,
            f"{plan.gpu.total / GIB:.2f}",
            f"{plan.ram.total / GIB:.2f}",
            f"{plan.speed.tokens_per_second:.0f}",
            cost,
        )


def table(model: ModelFile, wishes: Wishes) -> Iterator[Line]:
    for ram_gib in RAM_GIB:
        for vram_gib in CARDS_GIB:
            gpu = Gpu("RTX 4090", "NVIDIA", DeviceKind.DISCRETE, vram_gib * GIB, vram_gib * GIB)
            machine = Machine("", DESKTOP, described_ram(ram_gib * GIB), None, (gpu,))
            started = time.perf_counter()
            plan = make_plan(machine, model, wishes, gpu)
            yield Line(vram_gib, ram_gib, plan, time.perf_counter() - started)


def broken_laws(lines: list[Line]) -> list[str]:
    """What does not hold, in words; empty when all is well."""
    found = []
    for line in lines:
        plan = line.plan
        if isinstance(plan, FitPlan):
            if plan.gpu.total + plan.reserve_bytes > line.vram_gib * GIB * bool(plan.devices):
                found.append(f"{line.vram_gib} GiB: over the card's budget")
            if plan.ram.total > plan.ram_available_bytes:
                found.append(f"{line.ram_gib} GiB: over the RAM's budget")
    for before, after in itertools.pairwise(lines):
        less, more = before.plan, after.plan
        if before.ram_gib != after.ram_gib or isinstance(less, DoesNotFit):
            continue
        name = f"{before.vram_gib} to {after.vram_gib} GiB with {after.ram_gib} GiB"
        if isinstance(more, DoesNotFit):
            found.append(f"{name}: fitted before")
        elif more.gpu.weights < less.gpu.weights or more.cpu_expert_layers > less.cpu_expert_layers:
            found.append(f"{name}: less on the card")
        elif less.speed and more.speed and more.speed.tokens_per_second < less.speed.tokens_per_second:
            found.append(f"{name}: slower")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="What fits on which card.")
    parser.add_argument("--gguf", type=Path)
    parser.add_argument("--context", type=int)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    model = read_model_file(options.gguf) if options.gguf else clover_shape()
    lines = list(table(model, Wishes(context=options.context)))
    rows = [HEAD, *(line.cells() for line in lines)]
    if options.markdown:
        rows.insert(1, tuple("---" for _ in HEAD))
        print("\n".join(f"| {' | '.join(row)} |" for row in rows))
    else:
        widths = [max(len(row[i]) for row in rows if row is HEAD or row[3]) for i in range(len(HEAD))]
        print(
            "\n".join(
                "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows
            )
        )
    if found := broken_laws(lines):
        raise SystemExit("\n".join(found))


if __name__ == "__main__":
    main()
