"""Every error has a text of its own with its numbers; every word of the stages has a sentence."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clover_gui import errors, i18n
from clover_gui.chat.opening import StoreCondition
from clover_gui.engine import protocol
from clover_gui.engine.protocol import EngineDevice, EngineInfo
from clover_gui.explain import (
    Explanation,
    advice_text,
    describe_engine,
    describe_gpu,
    describe_gpus,
    describe_memory,
    describe_plan,
    describe_processor,
    explain,
    note_text,
    store_text,
    suggestion_text,
    warning_text,
)
from clover_gui.hardware.machine import DeviceKind, Gpu, Machine, Memory, ProbeNote, Processor
from clover_gui.pipeline.gpu_choice import GPU_NOT_SEEN, GPU_UNUSABLE, SOFTWARE_GPU
from clover_gui.planning.plan import DoesNotFit, FitPlan, KvType, Need, Placement

MB = 1 << 20
GB = 1 << 30
PATH = Path("/models/Clover-35B.gguf")
NOTHING = Machine("Linux 6", Processor("AMD EPYC", "x86_64", 2, 2), Memory(int(23.5 * GB), 20 * GB), None)

EXAMPLES: dict[type[BaseException], BaseException] = {
    errors.CloverError: errors.CloverError("x"),
    errors.DataFolderError: errors.DataFolderError(Path("/data"), "Read-only file system"),
    errors.ModelFileError: errors.ModelFileError(PATH, "odd"),
    errors.ModelFileMissing: errors.ModelFileMissing(PATH),
    errors.ModelFileUnreadable: errors.ModelFileUnreadable(PATH, "Permission denied"),
    errors.NotAModelFile: errors.NotAModelFile(PATH, "html", "<!DOCTYPE html>"),
    errors.ModelFileTruncated: errors.ModelFileTruncated(PATH, "data", int(41.2 * MB), int(98.4 * MB)),
    errors.ModelFileUnsupported: errors.ModelFileUnsupported(PATH, "split", "part 1 of 3"),
    errors.ModelFileCorrupt: errors.ModelFileCorrupt(PATH, "2**60 tensors"),
    errors.DoesNotFitError: errors.DoesNotFitError(21 * GB, 7 * GB),
    errors.DownloadError: errors.DownloadError("odd", "hub"),
    errors.HubUnreachable: errors.HubUnreachable("hub", "silent"),
    errors.HubCertificateRefused: errors.HubCertificateRefused("self-signed", "hub"),
    errors.ProxyFailed: errors.ProxyFailed("proxy", "login"),
    errors.NetworkSettingWrong: errors.NetworkSettingWrong("proxy"),
    errors.HubRefused: errors.HubRefused("hub", 403, "a/b", gated=True, token_sent=False),
    errors.HubNotFound: errors.HubNotFound("hub", "file", "x.gguf"),
    errors.HubBusy: errors.HubBusy("hub", 30.0),
    errors.HubFailed: errors.HubFailed("hub", 503),
    errors.WebPageReceived: errors.WebPageReceived("hub", "Please sign in"),
    errors.NotAModelReceived: errors.NotAModelReceived("hub", "x.gguf"),
    errors.ModelChoiceFailed: errors.ModelChoiceFailed("a/b", "*", "several", ("x", "y")),
    errors.ChecksumUnknown: errors.ChecksumUnknown("hub", "x.gguf"),
    errors.RemoteFileChanged: errors.RemoteFileChanged("other", "hub"),
    errors.WrongSize: errors.WrongSize("hub", 2 * GB, GB),
    errors.WrongHash: errors.WrongHash("hub", "aa", "bb", 20 * GB),
    errors.NotEnoughSpace: errors.NotEnoughSpace(Path("/data"), 20 * GB, 5 * GB),
    errors.DestinationNotWritable: errors.DestinationNotWritable(PATH, "Permission denied"),
    errors.DownloadInUse: errors.DownloadInUse(PATH),
    errors.DownloadStopped: errors.DownloadStopped(3 * GB),
    errors.RepairError: errors.RepairError(PATH, "odd"),
    errors.RepairImpossible: errors.RepairImpossible(PATH, "incomplete"),
    errors.RepairNeeded: errors.RepairNeeded(PATH, "qwen35moe"),
    errors.RepairContradictory: errors.RepairContradictory(PATH),
    errors.RepairNotInPlace: errors.RepairNotInPlace(PATH, "LM Studio"),
    errors.RepairFileInUse: errors.RepairFileInUse(PATH, ("ollama (1)",)),
    errors.RepairNoSpace: errors.RepairNoSpace(PATH, 20 * GB, GB),
    errors.RepairWriteFailed: errors.RepairWriteFailed(PATH, "EIO", restored=True),
    errors.RepairCancelled: errors.RepairCancelled(PATH),
    errors.RepairUndoMissing: errors.RepairUndoMissing(PATH),
    errors.RepairDamaged: errors.RepairDamaged(PATH),
    errors.EngineError: errors.EngineError("odd"),
    errors.EngineMissing: errors.EngineMissing("No module named 'llama_cpp'"),
    errors.EngineStartFailed: errors.EngineStartFailed("libgomp.so.1: cannot open", ("line",)),
    errors.EngineDied: errors.EngineDied(-11, "", ("last line",)),
    errors.EngineUnresponsive: errors.EngineUnresponsive("no answer to cancel"),
    errors.ModelLoadFailed: errors.ModelLoadFailed(PATH, protocol.FAIL_OTHER, "bad tensor", ("log",)),
    errors.ModelNotLoaded: errors.ModelNotLoaded(),
    errors.ContextFull: errors.ContextFull(16387, 4096),
    errors.TemplateFailed: errors.TemplateFailed("No user query found in messages."),
    errors.GenerationFailed: errors.GenerationFailed("llama_decode: -3"),
    errors.FlavourError: errors.FlavourError("failed"),
    errors.FlavourRefused: errors.FlavourRefused("missing-library", "libcudart.so.12"),
    errors.FlavourNotPublished: errors.FlavourNotPublished("example.org", "cu124", "0.3.36"),
    errors.FlavourBusy: errors.FlavourBusy("busy"),
    errors.FlavourStopped: errors.FlavourStopped("stopped"),
    errors.StorageError: errors.StorageError(PATH, "odd"),
    errors.MoveTargetUnusable: errors.MoveTargetUnusable(Path("/disk"), "Permission denied"),
    errors.MoveNoSpace: errors.MoveNoSpace(Path("/disk"), 20 * GB, GB),
    errors.MoveNameTaken: errors.MoveNameTaken(PATH),
    errors.MoveSourceInUse: errors.MoveSourceInUse(PATH),
    errors.MoveFailed: errors.MoveFailed(PATH, "Input/output error"),
    errors.MoveCancelled: errors.MoveCancelled("stopped"),
    errors.ChatStoreError: errors.ChatStoreError(Path("/data/chats.sqlite3"), "disk I/O error"),
    errors.ChatFileError: errors.ChatFileError(Path("/home/chat.json"), "not-ours"),
    errors.AttachmentRefused: errors.AttachmentRefused("film.mp4", "binary"),
}


def all_classes(base: type[BaseException] = errors.CloverError) -> Iterator[type[BaseException]]:
    yield base
    for cls in base.__subclasses__():
        yield from all_classes(cls)


@pytest.mark.parametrize("cls", list(all_classes()), ids=lambda cls: cls.__name__)
def test_every_error_has_a_text_of_its_own(cls: type[BaseException]) -> None:
    assert cls in explain.registry, f"{cls.__name__} has no text"
    text = explain(EXAMPLES[cls])
    for part in (text.title, text.sentence, text.next_step):
        assert part
        assert "\n" not in part
        assert "{" not in part
    assert text.sentence.endswith(".")
    assert len({text.title, text.sentence, text.next_step}) == 3


@pytest.mark.parametrize("cls", [cls for cls in all_classes() if issubclass(cls, errors.EngineError)])
def test_the_engines_last_lines_are_never_lost(cls: type[BaseException]) -> None:
    error = EXAMPLES[cls]
    assert isinstance(error, errors.EngineError)
    error.log_lines = ("first", "CUDA error: out of something")
    assert "CUDA error: out of something" in explain(error).detail
    error.reason, error.args, error.log_lines = "", (), ()
    assert explain(error).detail


@pytest.mark.parametrize(
    ("error", "part"),
    [
        (EXAMPLES[errors.ModelFileTruncated], "The file is 43.2 of 103.2 MB: it was not copied whole."),
        (errors.ModelFileTruncated(PATH, "data", 98 * MB - 1, 98 * MB), "102,760,447 of 102,760,448 bytes"),
        (errors.ModelFileTruncated(PATH, "header", 100, None), "The file ends after 100 B"),
        (EXAMPLES[errors.ContextFull], "16,387 tokens, and the model was loaded with room for 4,096"),
        (EXAMPLES[errors.DoesNotFitError], "It needs 21.0 GB of RAM, and 7.0 GB are available."),
        (errors.DoesNotFitError(9 * GB, GB, "gpu"), "9.0 GB of graphics memory"),
        (EXAMPLES[errors.NotAModelFile], "is a web page"),
        (EXAMPLES[errors.NotEnoughSpace], "21.5 GB are needed in /data, and 5.4 GB are free"),
        (EXAMPLES[errors.DownloadStopped], "3.2 GB are here and are kept"),
        (EXAMPLES[errors.WrongSize], "sends 1,073,741,824 bytes of 2,147,483,648"),
        (EXAMPLES[errors.RepairNotInPlace], "belongs to LM Studio"),
        (EXAMPLES[errors.RepairFileInUse], "in use by ollama (1)"),
        (errors.NotAModelFile(PATH, "empty"), "is empty"),
        (errors.EngineDied(None, "", ("ggml_cuda: CUDA error: out of memory",)), "ran out of memory"),
        (errors.EngineDied(-11), "SIGSEGV"),
        (errors.EngineDied(3), "exit code 3"),
        (errors.EngineDied(-4), "instructions that this processor does not have"),
        (errors.ModelLoadFailed(PATH, protocol.FAIL_ARCHITECTURE, "x"), "does not know the kind of model"),
        (errors.ModelLoadFailed(PATH, protocol.FAIL_TRUNCATED, "x"), "is incomplete"),
        (errors.ModelLoadFailed(PATH, "new word", "the reason"), "the reason"),
    ],
)
def test_the_numbers_are_in_the_sentence(error: BaseException, part: str) -> None:
    assert part in explain(error).sentence


@pytest.mark.parametrize("kind", ["split", "big-endian", "version", "tensor-type", "no-weights", "else"])
def test_every_unsupported_form_has_its_sentence(kind: str) -> None:
    text = explain(errors.ModelFileUnsupported(PATH, kind))
    assert isinstance(text, Explanation)
    assert ("does not read" in text.sentence) is (kind == "else")


def test_what_would_help_is_the_next_step() -> None:
    error = errors.DoesNotFitError(9, 1, "ram", ("smaller-context", "close-programs", "unheard-of"))
    assert explain(error).next_step == "Choose a smaller context. Close other programs."


def words_in(text: str | None) -> set[str]:
    return set(re.findall(r'"([a-z0-9_-]+)"', text or ""))


def test_every_word_of_the_plan_has_a_sentence() -> None:
    """The words are listed in the documentation of the two classes."""
    warnings = words_in(FitPlan.__doc__) - {"all"} | {GPU_UNUSABLE, GPU_NOT_SEEN, SOFTWARE_GPU}
    assert len(warnings) >= 9
    assert [word for word in warnings if warning_text(word).startswith("Note:")] == []
    suggestions = words_in(DoesNotFit.__doc__) - {"gpu", "ram"}
    assert len(suggestions) >= 6
    assert [word for word in suggestions if not suggestion_text(word)] == []


def test_a_bug_of_ours_is_called_that() -> None:
    text = explain(ZeroDivisionError("division by zero"))
    assert "ZeroDivisionError" in text.sentence
    assert text.detail == "division by zero"


def test_long_and_hostile_strings_are_capped() -> None:
    evil = "a\x1b[31m\u202e\n" * 100_000
    error = errors.ModelLoadFailed(Path(f"/m/{evil[:200]}.gguf"), "other", evil, (evil,))
    text = explain(error)
    assert len(text.sentence) < 500
    assert len(text.detail) < 5000
    assert "\x1b" not in text.title + text.sentence + text.next_step + text.detail


def test_no_gpu_is_a_plain_sentence() -> None:
    assert describe_gpus(NOTHING) == ("No graphics card was found: models run on the processor.",)
    assert describe_memory(NOTHING.memory) == "20.0 GB free of 23.5 GB"
    assert describe_processor(NOTHING.processor) == "AMD EPYC: 2 cores"
    assert describe_processor(Processor("X", "x86_64", 1, 2)) == "X: 1 core, 2 threads"


def test_gpu_sentences() -> None:
    card = Gpu("NVIDIA X", "NVIDIA", DeviceKind.DISCRETE, 12 * GB, 11 * GB, driver="550.1")
    assert describe_gpu(card) == "NVIDIA X: 12.0 GB of graphics memory, 11.0 GB free (driver 550.1)"
    shared = Gpu("GB10", "NVIDIA", DeviceKind.UNIFIED)
    assert describe_gpu(shared) == "GB10: shares the RAM"
    least = Gpu("Old", "AMD", DeviceKind.DISCRETE, 4 * GB, vram_is_minimum=True)
    assert describe_gpu(least) == "Old: at least 4.0 GB of graphics memory"


def test_engine_sentences() -> None:
    cpu = EngineDevice("CPU", "AMD EPYC", "CPU", "cpu", GB, GB)
    card = EngineDevice("CUDA0", "NVIDIA X", "CUDA", "gpu", 11 * GB, 12 * GB)
    only_cpu = EngineInfo(1, "0.3.36", False, (cpu,), {})
    assert describe_engine(only_cpu) == ("llama-cpp-python 0.3.36, built for the processor only",)
    assert "finds none" in describe_engine(EngineInfo(1, "0.3.36", True, (cpu,), {}))[0]
    assert describe_engine(EngineInfo(1, "0.3.36", True, (cpu, card), {}))[1] == (
        "can use NVIDIA X (CUDA), 11.0 GB of 12.0 GB free"
    )
    assert "missing" in describe_engine(errors.EngineMissing("x"))[0]


def test_plan_sentences_have_every_number() -> None:
    plan = FitPlan(
        Placement.EXPERTS_ON_CPU,
        32768,
        KvType.F16,
        41,
        24,
        8,
        gpu=Need(weights=8 * GB, kv=GB, compute=GB // 2),
        ram=Need(weights=12 * GB),
        gpu_available_bytes=11 * GB,
        ram_available_bytes=28 * GB,
        gpu_name="NVIDIA X",
    )
    assert describe_plan(plan, 40) == (
        "The graphics card holds all but the experts of 24 of 40 layers; those stay in RAM.",
        "NVIDIA X: 9.5 GB needed of 11.0 GB available (weights 8.0 GB, context 1.0 GB, computing 512 MB)",
        "RAM: 12.0 GB needed of 28.0 GB available (weights 12.0 GB)",
        "Context: 32,768 tokens, kept as F16",
    )


def test_advice_and_notes_have_sentences() -> None:
    assert "{" not in advice_text("little-ram", {"free": GB, "total": 8 * GB})
    unusable = advice_text("gpu-unusable", {"gpu": "NVIDIA X"})
    assert unusable.startswith("There is a graphics card (NVIDIA X), but")
    assert "new-word" in advice_text("new-word", {})
    assert note_text(ProbeNote("nvidia", "permission", "NVML: 4")) == "nvidia: no permission (NVML: 4)"


@pytest.mark.parametrize("condition", list(StoreCondition))
def test_every_condition_of_the_store_has_a_sentence(condition: StoreCondition) -> None:
    text = store_text(condition, "a reason", Path("/data/chats.sqlite3.damaged-1"))
    assert bool(text) is (condition is not StoreCondition.FINE)


def test_texts_follow_the_language() -> None:
    before = i18n.current_language()
    try:
        i18n.set_language("de")
        assert "43,2" in explain(EXAMPLES[errors.ModelFileTruncated]).sentence
    finally:
        i18n.set_language(before)


def test_it_needs_no_qt() -> None:
    code = "import sys, clover_gui.explain; print([m for m in sys.modules if 'PySide' in m or 'llama' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_the_window_shows_never_names_the_terminal_alone() -> None:
    text = explain(errors.NotEnoughSpace(Path("/models"), 2, 1))
    assert "in the settings, or --dest FOLDER" in text.next_step


def test_a_file_cut_in_its_header_has_no_unknown_size() -> None:
    text = explain(errors.ModelFileTruncated(Path("a.gguf"), "header", 20, None))
    assert "20 bytes" in text.detail
    assert "None" not in text.detail
