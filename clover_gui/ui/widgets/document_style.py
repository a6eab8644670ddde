"""The style sheet of the rich text documents in messages (a subset of CSS that Qt understands).

Every block keeps its distance upwards and none downwards, so that a text looks the same whether it is one
document or one document for each block.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QFont, QTextLayout

from clover_gui.ui.colors import Colors
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.formula_store import FormulaStore

LINE_HEIGHT = 1.32
HEADING_SCALES = (1.35, 1.2, 1.1, 1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class DocumentStyle:
    """How documents are drawn. Distances in logical pixels."""

    css: str
    font: QFont
    colors: Colors
    formulas: FormulaStore
    text_color: str
    quote_color: str
    focus_color: str
    paragraph_gap: int
    item_gap: int
    quote_indent: int
    list_indent: int


def document_style(theme: Theme, muted: bool = False) -> DocumentStyle:
    """The style for messages; ``muted`` for what is less important than the answer."""
    colors = theme.colors
    points = theme.reading_font().pointSizeF()
    gap, item, quote = theme.space(0.7), theme.space(0.32), theme.space(1.0)
    code_points = theme.code_font().pointSizeF()
    # Whole pixels, or the heights of the parts would not add up to the height of the whole.
    natural = _line_height(theme.reading_font())
    line_height = 100 * round(natural * LINE_HEIGHT) / natural
    headings = "".join(
        f"h{level} {{ margin: 0; margin-top: {theme.space(1.15)}px; font-size: {points * scale:.2f}pt;"
        " font-weight: 600; }\n"
        for level, scale in enumerate(HEADING_SCALES, start=1)
    )
    cell = f"padding: {theme.space(0.3)}px {theme.space(0.7)}px {theme.space(0.3)}px {theme.space(0.4)}px;"
    lines = "border-style: solid; border-top: 0px; border-left: 0px; border-right: 0px;"
    css = f"""{headings}
p {{ margin: 0; margin-top: {gap}px; line-height: {line_height:.4f}%; }}
p.formula {{ line-height: 100%; }}
ul, ol {{ margin: 0; }}
ul.outer, ol.outer {{ margin-top: {gap}px; }}
li {{ margin: 0; margin-top: {item}px; line-height: {line_height:.4f}%; }}
blockquote {{ margin: 0; margin-left: {quote}px; margin-right: {quote}px; color: {colors.muted}; }}
pre {{ margin: 0; margin-top: {gap}px; font-family: "{theme.code_font().family()}";
    font-size: {code_points:.2f}pt; background-color: {colors.code_background}; }}
code {{ font-family: "{theme.code_font().family()}"; font-size: {code_points:.2f}pt;
    background-color: {colors.code_header}; }}
hr {{ background-color: {colors.border}; }}
a {{ color: {colors.link}; text-decoration: underline; }}
.label {{ color: {colors.muted}; font-style: italic; }}
table {{ border-collapse: collapse; border-style: none; margin: 0; }}
th {{ {cell} {lines} border-bottom: 2px solid {colors.border}; font-weight: 600; }}
td {{ {cell} {lines} border-bottom: 1px solid {colors.border}; }}
"""
    return DocumentStyle(
        css=css,
        font=theme.reading_font(),
        colors=colors,
        formulas=theme.formulas,
        text_color=colors.muted if muted else colors.text,
        quote_color=colors.border,
        focus_color=colors.focus,
        paragraph_gap=gap,
        item_gap=item,
        quote_indent=quote,
        list_indent=theme.space(1.7),
    )


def _line_height(font: QFont) -> float:
    """The height of a laid out line, which font metrics do not tell exactly."""
    layout = QTextLayout("x", font)
    layout.beginLayout()
    line = layout.createLine()
    line.setLineWidth(1_000)
    layout.endLayout()
    return line.height()
