"""Machine, engine, model and plan in short sentences with their numbers."""

from __future__ import annotations

from clover_gui.engine.protocol import EngineDevice, EngineInfo
from clover_gui.errors import EngineError
from clover_gui.explain.explanation import explain
from clover_gui.explain.hints import left_out_text
from clover_gui.hardware.machine import DeviceKind, Disk, Gpu, Machine, Memory, Processor
from clover_gui.i18n import _, capped, file_size, ngettext, number, size
from clover_gui.model_file.summary import ModelFile
from clover_gui.planning.plan import DoesNotFit, FitPlan, Need, Placement, Speed


def describe_gpu(gpu: Gpu) -> str:
    """One graphics device, for example "NVIDIA X: 12.0 GB of graphics memory, 11.4 GB free (driver 550)"."""
    name = capped(gpu.name)
    if gpu.kind in (DeviceKind.UNIFIED, DeviceKind.INTEGRATED):
        text = _("{name}: shares the RAM").format(name=name)
    elif gpu.vram_total_bytes is None:
        text = _("{name}: its driver does not tell the size of its memory").format(name=name)
    else:
        total = size(gpu.vram_total_bytes)
        if gpu.vram_is_minimum:
            total = _("at least {size}").format(size=total)
        if gpu.vram_free_bytes is None:
            text = _("{name}: {total} of graphics memory").format(name=name, total=total)
        else:
            text = _("{name}: {total} of graphics memory, {free} free").format(
                name=name, total=total, free=size(gpu.vram_free_bytes)
            )
    if gpu.driver:
        text = _("{device} (driver {version})").format(device=text, version=capped(gpu.driver, 30))
    if gpu.was_asleep:
        text = _("{device}; it sleeps to save power while nothing is loaded on it").format(device=text)
    return text


def describe_gpus(machine: Machine) -> tuple[str, ...]:
    """One sentence for each graphics device, or one that says that there is none."""
    if not machine.gpus:
        return (_("No graphics card was found: models run on the processor."),)
    return tuple(describe_gpu(gpu) for gpu in machine.gpus)


def likely_causes(machine: Machine) -> tuple[str, ...]:
    """Why no graphics device may have been found although there is one; empty where one was found."""
    if machine.gpus:
        return ()
    kinds = {note.kind for note in machine.notes if note.probe in ("nvidia", "graphics")}
    causes = []
    if "device-lost" in kinds:
        causes.append(_("The driver has lost the card, as can happen after sleep: start the machine again."))
    if "driver-error" in kinds:
        causes.append(_("The driver was updated while it was in use: start the machine again."))
    if "permission" in kinds:
        causes.append(_("This user may not use the graphics card (on Linux: the groups render and video)."))
    if "under WSL" in machine.system:
        causes.append(_("Under WSL the driver of Windows is used: install or update it there."))
    if not causes:
        causes.append(_("The driver of the card is not installed."))
        causes.append(_("The program runs in a container or a remote session that has no access to it."))
    return tuple(causes)


def describe_memory(memory: Memory) -> str:
    return _("{free} free of {total}").format(
        total=size(memory.total_bytes), free=size(memory.available_bytes)
    )


def describe_disk(disk: Disk | None) -> str:
    if disk is None:
        return _("The free space on the disk could not be read.")
    return _("{free} free of {total}").format(
        free=file_size(disk.free_bytes), total=file_size(disk.total_bytes)
    )


def describe_processor(processor: Processor) -> str:
    cores = ngettext("{count} core", "{count} cores", processor.physical_cores).format(
        count=number(processor.physical_cores)
    )
    if processor.logical_cores > processor.physical_cores:
        threads = ngettext("{count} thread", "{count} threads", processor.logical_cores).format(
            count=number(processor.logical_cores)
        )
        cores = f"{cores}, {threads}"
    return f"{capped(processor.name)}: {cores}"


def describe_engine(engine: EngineInfo | EngineError) -> tuple[str, ...]:
    """The engine's build and what it can compute on; or the one sentence on why there is none."""
    if isinstance(engine, EngineError):
        return (explain(engine).sentence,)
    version = _("llama-cpp-python {version}").format(version=capped(engine.engine_version, 40))
    gpus = [device for device in engine.devices if device.type in ("gpu", "igpu")]
    if not engine.gpu_offload:
        return (_("{engine}, built for the processor only").format(engine=version),)
    if not gpus:
        return (
            _("{engine}, built for graphics cards; it finds none that it can use").format(engine=version),
        )
    return (_("{engine}, built for graphics cards").format(engine=version), *map(_describe_device, gpus))


def _describe_device(device: EngineDevice) -> str:
    return _("can use {name} ({backend}), {free} of {total} free").format(
        name=capped(device.description or device.name),
        backend=capped(device.backend, 20),
        free=size(device.memory_free_bytes),
        total=size(device.memory_total_bytes),
    )


def _parameters(count: int) -> str:
    if count < 100_000_000:
        return _("{count} million parameters").format(count=number(count / 1e6, 1))
    return _("{count} billion parameters").format(count=number(count / 1e9, 2))


def describe_model(model: ModelFile) -> tuple[str, ...]:
    """Name, size and shape of a model file."""
    name = capped(model.name) or capped(model.path.stem)
    lines = [
        _("{name}, {quantization}, {size}").format(
            name=name, quantization=capped(model.quantization, 20), size=file_size(model.size_bytes)
        )
    ]
    layers = ngettext("{count} layer", "{count} layers", model.layer_count).format(
        count=number(model.layer_count)
    )
    parameters = _parameters(model.parameter_count)
    shape = [capped(model.architecture, 30), parameters, layers]
    if model.is_moe:
        shape.append(
            _("{used} of {count} experts per token").format(
                used=number(model.expert_used_count), count=number(model.expert_count)
            )
        )
    lines.append(", ".join(shape))
    if model.trained_context:
        lines.append(_("trained for {count} tokens of context").format(count=number(model.trained_context)))
    if not model.has_template:
        lines.append(_("The file has no chat template: a plain form is used, and answers may suffer."))
    return tuple(lines)


def template_text(template: str, template_error: str) -> str:
    """What to say of the chat template of a loaded model (``Loaded``); "" where the file's own is used."""
    if template != "plain":
        return ""
    if template_error:
        return _("The file's chat template cannot be used: a plain form is used, and answers may suffer.")
    return _("The file has no chat template: a plain form is used, and answers may suffer.")


def describe_plan(plan: FitPlan, layer_count: int | None = None) -> tuple[str, ...]:
    """Where the model goes and what that needs. ``layer_count`` (of the model) makes shares tellable."""
    lines = [_placement(plan, layer_count)]
    if plan.gpu.total:
        name = capped(plan.gpu_name) or _("Graphics card")
        lines.append(_need(name, plan.gpu, plan.gpu_available_bytes))
    lines.append(_need(_("RAM"), plan.ram, plan.ram_available_bytes))
    lines.append(
        _("Context: {count} tokens, kept as {type}").format(
            count=number(plan.context), type=plan.kv_type.value.upper()
        )
    )
    if left_out := left_out_text(plan.left_out):
        lines.append(left_out)
    if plan.reserve_bytes:
        lines.append(_("{size} of the graphics memory stay free").format(size=size(plan.reserve_bytes)))
    if plan.speed is not None:
        lines.append(describe_speed(plan.speed))
    return tuple(lines)


def describe_speed(speed: Speed) -> str:
    """How fast answers will be written."""
    rate = number(speed.tokens_per_second, 1 if speed.tokens_per_second < 10 else 0)
    if speed.measured:
        return _("Speed: {rate} tokens per second, measured on this machine").format(rate=rate)
    low, high = number(speed.low), number(speed.high)
    return _("Speed: about {rate} tokens per second ({low} to {high}), estimated").format(
        rate=rate, low=low, high=high
    )


def describe_measure(name: str, planned_bytes: int, measured_bytes: int | None) -> str:
    """Planned against measured, for one device after a load."""
    if measured_bytes is None:
        return _("{name}: planned {planned}; its driver does not tell what is used").format(
            name=capped(name), planned=size(planned_bytes)
        )
    return _("{name}: planned {planned}, measured {measured}").format(
        name=capped(name), planned=size(planned_bytes), measured=size(measured_bytes)
    )


def refusal_text(refusal: DoesNotFit) -> tuple[str, ...]:
    """Why nothing fits, what is missing, and what would fit."""
    sentence = (
        _("It does not fit: {needed} of graphics memory needed, {available} there, {missing} too few.")
        if refusal.where == "gpu"
        else _("It does not fit: {needed} of RAM needed, {available} there, {missing} too few.")
    )
    lines = [
        sentence.format(
            needed=size(refusal.needed_bytes),
            available=size(refusal.available_bytes),
            missing=size(refusal.missing_bytes),
        )
    ]
    return (*lines, *fitting_text(refusal.fitting_context, refusal.fitting_file_bytes))


def fitting_text(context: int, file_bytes: int) -> tuple[str, ...]:
    """What would fit in place of what does not: a context, and a size of file (0: nothing to say)."""
    lines = []
    if context:
        lines.append(_("With {count} tokens of context it would fit.").format(count=number(context)))
    if file_bytes:
        lines.append(
            _("A smaller form of this model would fit: its file may have up to {size}.").format(
                size=file_size(file_bytes)
            )
        )
    return tuple(lines)


def _placement(plan: FitPlan, layer_count: int | None) -> str:
    several = len(plan.devices) > 1
    if plan.placement is Placement.FULL_GPU:
        if any(share.unified for share in plan.devices):
            return _("The graphics card computes the whole model, which lies in the RAM that it shares.")
        if several:
            return _("The whole model goes on the graphics cards.")
        return _("The whole model goes on the graphics card.")
    if plan.placement is Placement.EXPERTS_ON_CPU:
        if layer_count:
            text = _(
                "The graphics card holds all but the experts of {count} of {all} layers; those stay in RAM."
            )
            if several:
                text = _("The cards hold all but the experts of {count} of {all} layers; those stay in RAM.")
            return text.format(count=number(plan.cpu_expert_layers), all=number(layer_count))
        return _(
            "The graphics card holds everything but some experts, which stay in RAM (layers: {count})."
        ).format(count=number(plan.cpu_expert_layers))
    if plan.placement is Placement.PARTIAL_GPU:
        return _("Layers on the graphics card: {count}; the others stay in RAM.").format(
            count=number(plan.gpu_layers)
        )
    threads = (
        ngettext("{count} thread", "{count} threads", plan.threads).format(count=number(plan.threads))
        if plan.threads
        else _("all but one core")
    )
    return _("The model runs on the processor, with {threads}.").format(threads=threads)


def _need(name: str, need: Need, available_bytes: int) -> str:
    parts = [
        (_("weights"), need.weights),
        (_("context"), need.kv + need.recurrent),
        (_("computing"), need.compute),
        (_("overhead"), need.overhead),
        (_("results"), need.output),
        (_("other chats"), need.copies),
    ]
    summands = ", ".join(f"{label} {size(count)}" for label, count in parts if count)
    return _("{name}: {needed} needed of {available} available ({parts})").format(
        name=name, needed=size(need.total), available=size(available_bytes), parts=summands
    )
