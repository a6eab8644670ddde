"""What the documents say is true: links, commands, options, files, labels of the window, table of cards."""

from __future__ import annotations

import ast
import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from clover_gui import app, i18n
from clover_gui.cli import main as terminal
from clover_gui.cli.plan import described_ram
from clover_gui.commands import TERMINAL_COMMANDS
from clover_gui.exit_codes import ExitCode
from clover_gui.hardware.machine import DeviceKind, Gpu, Machine, Processor
from clover_gui.paths import DataFolder
from clover_gui.planning.clover_shape import clover_shape
from clover_gui.planning.plan import FitPlan, Wishes
from clover_gui.planning.planner import make_plan

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("installers/**/*.md")})
GUIDE, GERMAN_GUIDE = ROOT / "docs" / "guide.md", ROOT / "docs" / "anleitung.md"
GIB = 1 << 30

_FENCE = re.compile(r"^(?:```.*?^```|(?: {4}[^\n]*\n)+)", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(
    r"(?:(?:\.venv/bin/)?python3? -m clover_gui|(?:python3|py) installers[/\\]run\.py"
    r"|clover-gui(?:-terminal\.exe)?)(?= |$)(.*)"
)
_SPAN = re.compile(r"`([^`\n]+)`")

every_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def _prose(path: Path) -> str:
    """The text without blocks of code."""
    return _FENCE.sub("", path.read_text(encoding="utf-8"))


def _anchors(path: Path) -> set[str]:
    """The anchors of the headings, as forges make them."""
    found = set()
    for title in re.findall(r"^#+ (.+)$", _prose(path), re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", title.replace("`", "").lower())
        found.add(plain.strip().replace(" ", "-"))
    return found


# ------------------------------------------------------------ links and files


@every_document
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", _prose(document)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _hash, anchor = target.partition("#")
        path = (document.parent / name) if name else document
        assert path.exists(), target
        if anchor:
            assert anchor in _anchors(path), target


@every_document
def test_files_that_are_named_exist(document: Path) -> None:
    places = (ROOT, ROOT / "clover_gui", ROOT / "installers", document.parent)
    for span in _SPAN.findall(_prose(document)):
        if re.fullmatch(r"\w[\w.]*(?:/[\w.]+)+\.(?:py|md|toml|po|yml|yaml|nsi|sh|ps1|spec|lock)", span):
            assert any((place / span).exists() for place in places), span


# ------------------------------------------------------------ commands


def _commands(path: Path) -> Iterator[list[str]]:
    """Every command line of the program: in spans and in blocks of code."""
    text = path.read_text(encoding="utf-8")
    lines = [*_SPAN.findall(text), *(line for block in _FENCE.findall(text) for line in block.splitlines())]
    for line in lines:
        line = line.split("  #")[0].strip().removeprefix("$ ")
        found = _COMMAND.match(line)
        if found:
            yield shlex.split(found[1].replace("…", "").replace("[", "").replace("]", ""), comments=True)


def _options_of(command: str, capsys: pytest.CaptureFixture[str], data: DataFolder) -> set[str]:
    capsys.readouterr()
    with contextlib.suppress(SystemExit):
        if command:
            terminal.main([command, "--help"], data)
        else:
            app.parse_arguments(["--help"])
    return set(re.findall(r"--[a-z][\w-]*", capsys.readouterr().out))


@every_document
def test_commands_and_options_exist(
    document: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    i18n.set_language("en")
    data = DataFolder(tmp_path)
    known = {name: _options_of(name, capsys, data) for name in ("", *TERMINAL_COMMANDS)}
    # Those of run.py itself, and of what it hands over to.
    known[""] |= {"--setup-only"}
    for words in _commands(document):
        commands = [word for word in words if not word.startswith("-")]
        command = commands[0] if commands and commands[0] in known else ""
        if words[:1] in (["test"], ["--role"]):  # pytest's words, and the child's
            continue
        # Nobody writes a command that is not one: the first word is a command, a place for one, or a file.
        first = words[0] if words else ""
        assert not first or first.startswith("-") or command or first == "COMMAND" or "." in first, (
            f"{document.name}: {' '.join(words)}"
        )
        for word in words:
            option = word.partition("=")[0]
            if option.startswith("--"):
                assert option in known[command] | {"--help", "--data-dir"}, f"{command}: {option}"


# ------------------------------------------------------------ labels


def _texts() -> set[str]:
    """Every text of the program that is shown to people."""
    found = set()
    for path in (ROOT / "clover_gui").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("_", "ngettext")
            ):
                first = node.args[0] if node.args else None
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    found.add(first.value)
    return found


def _labels(path: Path) -> list[str]:
    return [re.sub(r"\s+", " ", label) for label in re.findall(r"\*\*(.+?)\*\*", _prose(path), re.DOTALL)]


def test_the_guide_names_the_window_as_it_is() -> None:
    texts = _texts()
    assert {label for label in _labels(GUIDE) if label not in texts} - {"bold"} == set()


def test_the_german_guide_does_so_too() -> None:
    """Both guides name the same labels in the same order, each in its language."""
    with open(ROOT / "resources" / "locale" / "de" / "LC_MESSAGES" / "clover_gui.po", "rb") as file:
        catalogue = read_po(file)
    translated = {message.id: message.string for message in catalogue if isinstance(message.id, str)}
    english, german = _labels(GUIDE)[1:], _labels(GERMAN_GUIDE)[1:]
    assert len(english) == len(german)
    wrong = {
        (text, shown, translated[text])
        for text, shown in zip(english, german, strict=True)
        if translated.get(text) and re.sub(r"\s+", " ", translated[text]) != shown
    }
    assert wrong == set()


def test_every_failure_is_in_the_guide() -> None:
    """Titles of failures are what people search for."""
    titles = set()
    for path in (ROOT / "clover_gui" / "explain").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id not in ("Explanation", "_explanation"):
                continue
            for argument in node.args[:2]:
                if isinstance(argument, ast.Call) and getattr(argument.func, "id", "") == "_":
                    if isinstance(argument.args[0], ast.Constant):
                        titles.add(argument.args[0].value)
                    break
    titles = {title for title in titles if not title.endswith(".")}
    assert len(titles) > 50
    assert titles - set(_labels(GUIDE)) == set()


@pytest.mark.parametrize("path", [GUIDE, GERMAN_GUIDE], ids=lambda path: path.name)
def test_every_exit_code_is_in_the_guide(path: Path) -> None:
    told = re.findall(r"^\| (\d+) \| ", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(code) for code in told] == sorted(code.value for code in ExitCode)


# ------------------------------------------------------------ the table of cards


def _rows(path: Path) -> list[list[str]]:
    rows = [
        line.strip("| ").split("|")
        for line in path.read_text(encoding="utf-8").splitlines()
        if " GB | " in line
    ]
    return [[cell.strip() for cell in row] for row in rows if len(row) == 7]


@pytest.mark.parametrize("path", [GUIDE, GERMAN_GUIDE], ids=lambda path: path.name)
def test_the_table_of_cards_is_what_the_planner_says(path: Path) -> None:
    def numbers(cell: str) -> list[float]:
        separator = "." if path == GERMAN_GUIDE else ","
        text = cell.replace(separator, "").replace(",", ".")
        return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]

    rows = _rows(path)
    assert len(rows) == 11
    model = clover_shape()
    processor = Processor("", "x86_64", 8, 16, frozenset({"avx2", "fma"}))
    for card, name, on_card, in_ram, experts, context, speed in rows:
        size = int(numbers(card)[0] * GIB) if numbers(card) else 0
        gpus = (Gpu(name, "", DeviceKind.DISCRETE, size, size, source="described"),) if size else ()
        machine = Machine("", processor, described_ram(32 * GIB), None, gpus)
        plan = (
            make_plan(machine, model, Wishes(), *gpus) if gpus else make_plan(machine, model, Wishes(), None)
        )
        assert isinstance(plan, FitPlan)
        assert plan.speed is not None
        assert numbers(on_card) == ([pytest.approx(plan.gpu.total / GIB, abs=0.06)] if size else [])
        assert numbers(in_ram) == [pytest.approx(plan.ram.total / GIB, abs=0.06)]
        assert numbers(experts)[0] == (plan.cpu_expert_layers if size else 40)
        assert numbers(context) == [plan.context]
        told = [plan.speed.tokens_per_second, plan.speed.low, plan.speed.high]
        assert numbers(speed) == [pytest.approx(value, abs=0.51) for value in told]
