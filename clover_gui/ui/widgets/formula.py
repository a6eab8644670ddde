"""One formula: from its LaTeX source to a picture of lines, by ``ziamath``, in a bounded time.

The source comes from a model and may be hostile: nested fractions take a time that doubles with each level.
So drawing runs under a trace that ends it after ``budget_s`` and lets other threads in between.
Must not know: Qt, threads, where a formula stands.
"""

from __future__ import annotations

import inspect
import re
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from xml.etree import ElementTree

SIZE = 100.0
"""Units to the em in ``Drawing``."""
INK = "#000001"
"""The colour of what has no colour of its own; whoever shows it puts another in its place."""

_CALLS = 256
"""Function calls after which the clock is looked at: about a millisecond."""
_BREATH_S = 0.0001
_DEEPEST = 40
_LIBRARIES = ("ziamath", "ziafont", "latex2mathml")
_MARGIN = 1.0
_LARGEST = 1000 * SIZE
_TAGS = frozenset({"svg", "symbol", "use", "path", "rect", "line", "polyline", "g"})
_UNKNOWN = re.compile(r"\\[A-Za-z]")
_DROPPED = re.compile(r"\\(?:label\s*\{[^{}]*\}|nonumber\b|notag\b|(?:begin|end)\s*\{equation\*?\})")
_TAG = re.compile(r"\\tag\*?\s*\{([^{}]*)\}")


class FormulaError(Exception):
    """This source is not drawn: it is not LaTeX, uses what is not known, or takes too long."""


class FormulaTimeout(FormulaError):
    """It took longer than allowed."""


class _Late(BaseException):
    """Ends drawing from within; no handler of the libraries may swallow it."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawn formula. Distances in units of ``SIZE`` to the em; ``svg`` uses ``INK`` for its lines."""

    svg: str
    width: float
    ascent: float
    """From the baseline up."""
    descent: float
    """From the baseline down."""

    @property
    def is_low(self) -> bool:
        """Whether it reaches further below the baseline than a line of text has room for."""
        return self.descent > 0.38 * SIZE


def draw_formula(source: str, budget_s: float) -> Drawing:
    """Draw a formula given with its delimiters. Raises FormulaError; takes at most ``budget_s`` of work."""
    latex, display = parts_of(source)
    depth = deepest = 0
    for character in latex:
        depth += (character == "{") - (character == "}")
        deepest = max(deepest, depth)
    if deepest > _DEEPEST:
        raise FormulaError("nested too deeply")
    _import()
    before = sys.gettrace()
    if before is None:
        sys.settrace(_limit(budget_s))
    try:
        return _draw(latex, display)
    except _Late:
        raise FormulaTimeout(f"not drawn within {budget_s} s") from None
    except FormulaError:
        raise
    except Exception as error:
        # The libraries raise whatever a wrong source leads to (KeyError, IndexError, ParseError, ...).
        raise FormulaError(type(error).__name__) from error
    finally:
        sys.settrace(before)


def parts_of(source: str) -> tuple[str, bool]:
    """The LaTeX text between the delimiters, and whether it stands on lines of its own."""
    display = source.startswith(("$$", "\\["))
    length = 1 if source.startswith("$") and not display else 2
    return source[length:-length].strip(), display


def _import() -> None:
    """Import what drawing needs (0.15 s the first time)."""
    with warnings.catch_warnings():
        # It asks for its own fonts in a way that Python 3.11 calls outdated.
        warnings.simplefilter("ignore", DeprecationWarning)
        from ziamath.config import config
    config.svg2 = False


def _limit(budget_s: float) -> Callable[[FrameType, str, object], None]:
    end = time.thread_time() + budget_s
    calls, late = _CALLS, False

    def trace(frame: FrameType, _event: str, _argument: object) -> None:
        nonlocal calls, late
        calls -= 1
        if not calls:
            calls = _CALLS
            late = time.thread_time() > end
            # The window's thread would wait for the interpreter's lock otherwise, 5 ms each time.
            time.sleep(_BREATH_S)
        if late and _may_end(frame):
            raise _Late

    return trace


def _may_end(frame: FrameType) -> bool:
    """Whether an exception raised here comes through: it would get lost where a generator is closed."""
    ours = str(frame.f_globals.get("__name__")).startswith(_LIBRARIES)
    return ours and not frame.f_code.co_flags & inspect.CO_GENERATOR


def _draw(latex: str, display: bool) -> Drawing:
    from ziamath.tex import tex2mml
    from ziamath.zmath import Math

    latex = _TAG.sub(r"\\qquad (\\text{\1})", _DROPPED.sub("", latex))
    # Parsed here: the library would undo the escapes of a text first, and so let tags in.
    tree = ElementTree.fromstring(tex2mml(latex, inline=not display))
    if any(_UNKNOWN.match(element.text or "") for element in tree.iter()):
        raise FormulaError("unknown command")
    tree.set("mathcolor", INK)
    math = Math(tree, SIZE, margin=_MARGIN)
    picture = math.svgxml()
    _check(picture)
    box = math.node.bbox
    width = box.xmax - box.xmin + 2 * _MARGIN
    ascent, descent = box.ymax + _MARGIN, _MARGIN - box.ymin
    if not (0 < width < _LARGEST and 0 < ascent + descent < _LARGEST and abs(ascent) < _LARGEST):
        raise FormulaError("empty or too large")
    return Drawing(ElementTree.tostring(picture, encoding="unicode"), width, ascent, descent)


def _check(picture: ElementTree.Element) -> None:
    """Only lines and areas, nothing that refers to a place outside."""
    for element in picture.iter():
        if element.tag not in _TAGS:
            raise FormulaError(f"unexpected part {element.tag!r}")
        for name, value in element.attrib.items():
            if name.endswith("href") and not value.startswith("#"):
                raise FormulaError("refers to something outside")
