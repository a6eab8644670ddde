"""Sentences for people: the one place where errors, findings and words of the program become text.

Both front ends use it; it knows no Qt and no terminal. ``explanation`` and the ``*_failures``
modules explain errors (each registers its classes with ``explain``), ``findings`` describes machine,
engine, model and plan, ``hints`` gives the text of advice, warnings and notes by their key words,
``answers`` tells how an answer ended and whether the next one fits, ``sampling_words`` names the settings.
Everything goes through the language in force at the moment of the call.
"""

from __future__ import annotations

from clover_gui.explain import (
    chat_failures,
    download_failures,
    engine_failures,
    file_failures,
    flavour_failures,
    repair_failures,
    storage_failures,
)
from clover_gui.explain.explanation import Explanation, explain
from clover_gui.explain.findings import (
    describe_disk,
    describe_engine,
    describe_gpu,
    describe_gpus,
    describe_measure,
    describe_memory,
    describe_model,
    describe_plan,
    describe_processor,
    describe_speed,
    fitting_text,
    likely_causes,
    refusal_text,
    template_text,
)
from clover_gui.explain.hints import (
    advice_text,
    cure_text,
    device_use_text,
    dry_run_text,
    left_out_text,
    note_text,
    refit_text,
    replan_text,
    store_text,
    suggestion_text,
    warning_text,
)

__all__ = [
    "Explanation",
    "advice_text",
    "chat_failures",
    "cure_text",
    "describe_disk",
    "describe_engine",
    "describe_gpu",
    "describe_gpus",
    "describe_measure",
    "describe_memory",
    "describe_model",
    "describe_plan",
    "describe_processor",
    "describe_speed",
    "device_use_text",
    "download_failures",
    "dry_run_text",
    "engine_failures",
    "explain",
    "file_failures",
    "fitting_text",
    "flavour_failures",
    "left_out_text",
    "likely_causes",
    "note_text",
    "refit_text",
    "refusal_text",
    "repair_failures",
    "replan_text",
    "storage_failures",
    "store_text",
    "suggestion_text",
    "template_text",
    "warning_text",
]
