"""Sentences about the engine's set-up: what went less well than it could, and the command that cures it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from clover_gui import system_libraries
from installers.backend import Facts, Plan

_AGAIN = "python3 installers/engine.py"

_CUDA_TOOLKIT = {
    "debian": "sudo apt-get install nvidia-cuda-toolkit",
    "fedora": "sudo dnf install cuda-toolkit",
    "arch": "sudo pacman -S cuda",
}
_VULKAN_TOOLS = {
    "debian": "sudo apt-get install glslc libvulkan-dev spirv-headers",
    "fedora": "sudo dnf install glslc vulkan-headers vulkan-loader-devel spirv-headers-devel",
    "arch": "sudo pacman -S shaderc vulkan-headers vulkan-icd-loader spirv-headers",
}


def second_best(facts: Facts, wanted: str, got: str) -> tuple[str, str] | None:
    """(what is less than it could be, what to do) when the engine does not use the GPU as it could."""
    if got == wanted:
        return None
    family = system_libraries.distribution().family if facts.system == "linux" else facts.system
    used = "the processor only" if got == "cpu" else f"the GPU through {got.capitalize()}"
    if wanted == "cuda" and not facts.nvidia_name:
        return (
            f"This machine has an NVIDIA GPU, but its driver does not answer, so the engine uses {used}.",
            f"Install NVIDIA's driver, restart, check it with nvidia-smi, then run: {_again('cuda')}",
        )
    if wanted == "cuda" and not facts.has_nvcc:
        toolkit = _CUDA_TOOLKIT.get(family, "install NVIDIA's CUDA toolkit")
        return (
            f"This machine has an NVIDIA GPU ({facts.nvidia_name}), but not the CUDA toolkit that an engine "
            f"for it is built with. The engine uses {used}.",
            f"To use it fully: {toolkit}, then run: {_again('cuda')}",
        )
    if wanted == "vulkan" and not facts.has_vulkan_tools:
        tools = _VULKAN_TOOLS.get(family, "install the Vulkan SDK")
        return (
            f"This machine has a GPU that Vulkan can use, but not the tools to build an engine for it "
            f"(glslc, and Vulkan headers of 2024 or newer). The engine uses {used}.",
            f"To use the GPU: {tools}, then run: {_again('vulkan')}",
        )
    return (
        f"An engine for this machine's GPU ({wanted}) could not be had, so it uses {used}.",
        f"To see why, run: {_again(wanted)}",
    )


def nothing_worked(facts: Facts, plan: Plan, failures: Sequence[str]) -> tuple[str, str]:
    """(why there is no engine, what to do)."""
    if not facts.has_compiler and any("no C++ compiler" in failure for failure in failures):
        return (
            "The engine has to be built on this machine, and a C++ compiler is missing.",
            f"{compiler_advice(facts)} Then start again.",
        )
    if not plan.ways:
        return (
            f"An engine for {plan.wanted} cannot be built here: its tools are missing.",
            "Install them, or choose another backend with --backend.",
        )
    return (
        f"No engine could be set up. {failures[-1][:300]}" if failures else "No engine could be set up.",
        "Check the connection to the internet and the log, then start again.",
    )


def compiler_advice(facts: Facts) -> str:
    """How to get a C++ compiler on this system."""
    if facts.system == "darwin":
        return "Install it with: xcode-select --install"
    if facts.system == "win32":
        return (
            "Install the Visual Studio Build Tools with the C++ workload: "
            "winget install Microsoft.VisualStudio.2022.BuildTools "
            '--override "--add Microsoft.VisualStudio.Workload.VCTools"'
        )
    command = system_libraries.install_command((system_libraries.COMPILER,), system_libraries.distribution())
    return (
        f"Install it with: sudo {shlex.join(command)}"
        if command
        else "Install g++ with your package manager."
    )


def _again(backend: str) -> str:
    return f"{_AGAIN} --backend {backend}"
