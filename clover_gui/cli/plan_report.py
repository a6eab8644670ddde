"""A plan, or why there is none, as JSON for programs and as text for people."""

from __future__ import annotations

from typing import Any

from clover_gui.explain import describe_model, describe_plan, refusal_text, suggestion_text, warning_text
from clover_gui.model_file.summary import ModelFile
from clover_gui.planning.plan import DoesNotFit, FitPlan, Need


def as_json(model: ModelFile, plan: FitPlan | DoesNotFit, ubatch: int) -> dict[str, Any]:
    """The report for programs: sizes in bytes, keys are only ever added.

    ``kv_bytes`` to ``output_bytes`` are sums over both sides (``gpu`` and ``ram`` have them apart);
    ``overhead_bytes`` is the driver's, or on a machine without a GPU the engine process's. The memory
    that must stay free, ``reserve_bytes``, is not part of the totals. ``copies_bytes`` are states of other
    chats that are kept in RAM.
    """
    report: dict[str, Any] = {
        "model": model.name,
        "file_bytes": model.size_bytes,
        "layers": model.layer_count,
    }
    if isinstance(plan, DoesNotFit):
        return report | _refusal_json(plan, ubatch)
    both = plan.gpu + plan.ram
    speed = plan.speed
    return report | {
        "fits": True,
        "reason": describe_plan(plan, model.layer_count)[0],
        "placement": plan.placement.value,
        "context": plan.context,
        "kv_type": plan.kv_type.value,
        "ubatch": plan.batch,
        "gpu_layers": plan.gpu_layers,
        "cpu_expert_layers": plan.cpu_expert_layers,
        "threads": plan.threads,
        "weights_gpu_bytes": plan.gpu.weights,
        "weights_ram_bytes": plan.ram.weights,
        "kv_bytes": both.kv,
        "state_bytes": both.recurrent,
        "compute_bytes": both.compute,
        "output_bytes": both.output,
        "overhead_bytes": plan.gpu.overhead if plan.devices else plan.ram.overhead,
        "reserve_bytes": plan.reserve_bytes,
        "total_gpu_bytes": plan.gpu.total,
        "total_ram_bytes": plan.ram.total,
        "available_gpu_bytes": plan.gpu_available_bytes,
        "available_ram_bytes": plan.ram_available_bytes,
        "expected_tokens_per_second": round(speed.tokens_per_second, 1) if speed else None,
        "expected_range": [round(speed.low, 1), round(speed.high, 1)] if speed else None,
        "speed_measured": bool(speed and speed.measured),
        "gpu": _need_json(plan.gpu),
        "ram": _need_json(plan.ram),
        "devices": [
            {
                "name": share.name,
                "layers": share.layers,
                "available_bytes": share.available_bytes,
                "reserve_bytes": share.reserve_bytes,
                **_need_json(share.need),
            }
            for share in plan.devices
        ],
        "devices_left_out": list(plan.left_out),
        "warnings": list(plan.warnings),
    }


def _refusal_json(plan: DoesNotFit, ubatch: int) -> dict[str, Any]:
    nothing: dict[str, Any] = dict.fromkeys(
        (
            "placement",
            "context",
            "kv_type",
            "gpu_layers",
            "cpu_expert_layers",
            "weights_gpu_bytes",
            "weights_ram_bytes",
            "kv_bytes",
            "state_bytes",
            "compute_bytes",
            "output_bytes",
            "overhead_bytes",
            "reserve_bytes",
            "total_gpu_bytes",
            "total_ram_bytes",
            "expected_tokens_per_second",
        )
    )
    return nothing | {
        "fits": False,
        "reason": refusal_text(plan)[0],
        "ubatch": ubatch,
        "where": plan.where,
        "needed_bytes": plan.needed_bytes,
        "available_bytes": plan.available_bytes,
        "missing_bytes": plan.missing_bytes,
        "fitting_context": plan.fitting_context,
        "fitting_file_bytes": plan.fitting_file_bytes,
        "suggestions": list(plan.suggestions),
    }


def _need_json(need: Need) -> dict[str, int]:
    return {
        "weights_bytes": need.weights,
        "kv_bytes": need.kv,
        "state_bytes": need.recurrent,
        "compute_bytes": need.compute,
        "output_bytes": need.output,
        "overhead_bytes": need.overhead,
        "copies_bytes": need.copies,
        "total_bytes": need.total,
    }


def as_text(model: ModelFile, plan: FitPlan | DoesNotFit) -> str:
    """The report for people."""
    lines = [describe_model(model)[0]]
    if isinstance(plan, DoesNotFit):
        lines += refusal_text(plan)
        lines += [f"  - {text}" for word in plan.suggestions if (text := suggestion_text(word))]
    else:
        lines += describe_plan(plan, model.layer_count)
        lines += [warning_text(word) for word in plan.warnings]
    return "\n".join(lines) + "\n"
