"""Blocks: where they are cut depends on the text only, and nothing is lost."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from clover_gui.ui.widgets.block_cuts import BLOCK_LIMIT, TABLE_ROWS
from clover_gui.ui.widgets.block_splitter import BlockSplitter
from clover_gui.ui.widgets.blocks import Block, BlockJoiner, BlockKind, code_of, joined
from tests.ui.markdown_texts import MIXED, random_pieces, random_text


def split(*pieces: str, limit: int = BLOCK_LIMIT, table_rows: int = TABLE_ROWS) -> list[Block]:
    splitter = BlockSplitter(limit, table_rows)
    blocks: list[Block] = []
    for piece in pieces:
        blocks += splitter.feed(piece)
        splitter.open_block()
    return blocks + splitter.finish()


@pytest.mark.parametrize("limit", [60, BLOCK_LIMIT])
@pytest.mark.parametrize("seed", range(40))
def test_pieces_do_not_matter(seed: int, limit: int) -> None:
    source = random.Random(seed)
    text = random_text(source)
    whole = split(text, limit=limit, table_rows=3)
    assert "".join(block.source for block in whole) == text
    for longest in (1, 7, 40):
        assert split(*random_pieces(text, source, longest), limit=limit, table_rows=3) == whole


def test_mixed_text_is_cut_as_a_reader_sees_it() -> None:
    kinds = [block.kind for block in split(MIXED) if not block.is_blank]
    assert kinds.count(BlockKind.CODE) == 3
    assert kinds.count(BlockKind.TABLE) == 1


def test_code_in_a_list_is_code_of_its_own() -> None:
    blocks = split(MIXED)
    codes = [block for block in blocks if block.kind is BlockKind.CODE]
    assert code_of(codes[0]) == ("bash", "pip install thing\n\tindented\n")
    assert codes[0].level == 1
    assert code_of(codes[1])[0] == "python"
    after = blocks[blocks.index(codes[0]) + 1]
    assert (after.kind, after.level, after.markdown.strip()) == (BlockKind.PROSE, 1, "And then go on.")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "x",
        "\ta\n\n\n  b  \n",
        "`` ```\n```python",
        "a\n\n",
        "~~~\n`",
        "no end 😀\r\n",
        "    deep\n\t\ttabs",
    ],
)
def test_code_is_kept_byte_for_byte(body: str) -> None:
    fence = "````"
    (block,) = split(f"{fence}text\n{body}\n{fence}\n")
    assert block.kind is BlockKind.CODE
    assert code_of(block) == ("text", body)
    unfinished = split(f"{fence}text\n{body}")
    assert code_of(unfinished[0]) == ("text", body.removesuffix("\n"))


def test_code_being_written_only_grows() -> None:
    text = "```c\nint a;\n\n  int b;\n``\n```\n"
    splitter, seen = BlockSplitter(), ""
    for character in text:
        splitter.feed(character)
        block = splitter.open_block()
        if block and block.kind is BlockKind.CODE:
            body = code_of(block, finished=False)[1]
            assert body.startswith(seen)
            seen = body
    assert seen == "int a;\n\n  int b;\n``"


def test_a_list_is_finished_item_by_item() -> None:
    splitter = BlockSplitter()
    blocks = splitter.feed("- one\n- two\n- thr")
    assert [block.source for block in blocks] == ["- one\n"]
    assert not blocks[0].continues
    assert [block.continues for block in splitter.feed("ee\n- four\n")] == [True, True]


def test_a_long_table_is_finished_in_parts_with_its_head() -> None:
    head = "| a | b |\n|---|---|\n"
    blocks = split(head + "| 1 | 2 |\n" * (2 * TABLE_ROWS + 5))
    assert [block.kind for block in blocks] == [BlockKind.TABLE] * 3
    assert blocks[1].prefix == head
    assert blocks[1].markdown.count("\n") == TABLE_ROWS + 2


def test_what_is_open_stays_small() -> None:
    """However a text is made, the part that is drawn again and again has an upper bound."""
    texts = ["x" * 100_000, "word " * 20_000, "> quote\n" * 10_000, ">" * 10_000 + " a", "- a\n  b\n" * 9_000]
    for text in texts:
        splitter = BlockSplitter()
        for start in range(0, len(text), 5_000):
            splitter.feed(text[start : start + 5_000])
            block = splitter.open_block()
            assert block is None or len(block.source) <= 2 * BLOCK_LIMIT


def test_neighbouring_prose_is_joined_and_nothing_else() -> None:
    joiner = BlockJoiner()
    groups = [group for block in split(MIXED) for group in joiner.add(block)] + joiner.finish()
    blocks = [joined(group) for group in groups]
    assert "".join(block.source for block in blocks) == MIXED
    neighbours = pairwise(blocks)
    assert not any(a.kind is b.kind is BlockKind.PROSE and a.level == b.level for a, b in neighbours)
