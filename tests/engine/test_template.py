"""The file's own template: what it renders, and what a hostile one cannot do."""

from __future__ import annotations

import time

import pytest

from clover_gui.engine.protocol import PromptMessage
from clover_gui.engine.template import ChatTemplate, TemplateError, thinking_open
from tests.engine.kit import user
from tests.kit.gguf_parts import TEMPLATE

QUESTION = "<|im_start|>user\nHi<|im_end|>\n"


def test_tail_of_the_prompt_follows_the_switch() -> None:
    template = ChatTemplate(TEMPLATE)
    on, off, default = (template.render(user("Hi"), value) for value in (True, False, None))
    assert on.prompt == default.prompt == QUESTION + "<|im_start|>assistant\n<think>\n"
    assert off.prompt == QUESTION + "<|im_start|>assistant\n<think>\n\n</think>\n\n"
    assert on.history == off.history == QUESTION
    assert thinking_open(on.prompt)
    assert not thinking_open(off.prompt)
    assert template.can_switch_thinking()


def test_history_is_the_beginning_of_the_next_prompt() -> None:
    template = ChatTemplate(TEMPLATE)
    for first in (True, False):
        for second in (True, False):
            before = template.render(user("Hi"), first)
            after = template.render(user("Hi", "Thought.</think>\n\nHello", "And?"), second)
            assert before.history is not None
            assert after.prompt.startswith(before.history + "<|im_start|>assistant\nHello<|im_end|>\n")
            assert "Thought" not in after.prompt


def test_a_template_without_a_switch() -> None:
    template = ChatTemplate("{% for m in messages %}{{ m.content }}{% endfor %}")
    assert not template.can_switch_thinking()
    assert template.render(user("Hi")).prompt == "Hi"


def test_what_templates_use() -> None:
    source = (
        "{{ bos_token }}{% set ns = namespace(n=0) %}{% for m in messages %}{% if loop.index0 == 1 %}"
        "{% continue %}{% endif %}{% set ns.n = ns.n + 1 %}{{ m['role'] ~ ns.n ~ m.content.strip() }}"
        "{% endfor %}{{ {'a': 'é<b>'} | tojson }}{{ strftime_now('%Y') | length }}{{ eos_token }}"
    )
    rendered = ChatTemplate(source, begin="<s>", end="</s>").render(user(" one ", "two", "three"))
    assert rendered.prompt == '<s>user1oneuser2three{"a": "é<b>"}4</s>'


def test_own_words_of_the_template_are_told() -> None:
    template = ChatTemplate(TEMPLATE)
    with pytest.raises(TemplateError, match="There are no messages"):
        template.render(())
    with pytest.raises(TemplateError, match="no question"):
        template.render((PromptMessage("assistant", "Hi"),))
    with pytest.raises(TemplateError, match="must be the first"):
        template.render((*user("Hi"), PromptMessage("system", "late")))


@pytest.mark.parametrize("source", ["{% if %}", "{{ unclosed", "{% for x in %}", "{{ 1 | nothing }}"])
def test_no_template(source: str) -> None:
    with pytest.raises(TemplateError):
        ChatTemplate(source)


def test_brackets_without_end_are_no_template() -> None:
    with pytest.raises(TemplateError):
        ChatTemplate("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}")


@pytest.mark.parametrize("source", ["\0", "Hello", "{{ messages[0].role }}", "{{ raise_exception('no') }}"])
def test_a_template_that_leaves_the_message_out_is_found(source: str) -> None:
    with pytest.raises(TemplateError):
        ChatTemplate(source).check()


def test_a_usable_template_passes_the_check() -> None:
    ChatTemplate(TEMPLATE).check()


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.__class__.__init__.__globals__ }}",
        "{{ raise_exception.__globals__['sys'] }}",
        "{{ namespace.__init__.__globals__.os.system('true') }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ messages.append(1) }}",
        "{{ range(99999999) | list }}",
        "{{ 'x' * 999999999 }}",
        "{{ [1] * 999999999 }}",
        "{{ 9 ** 99999999 }}",
        "{{ '%999999999d' % 1 }}",
        "{{ '%*d' % (999999999, 1) }}",
        "{{ '{:>2000000000}'.format(1) }}",
        "{{ ('{:>2000000000}' | attr('format'))(1) }}",
        "{{ '{a:>2000000000}'.format_map({'a': 1}) }}",
        "{{ 'x'.ljust(999999999) }}",
        "{{ 'x' | center(999999999) }}",
        "{{ open('/etc/passwd') }}",
        "{% include '/etc/passwd' %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    ],
)
def test_hostile_templates_are_refused(source: str) -> None:
    started = time.monotonic()
    with pytest.raises(TemplateError):
        ChatTemplate(source).render(user("Hi"))
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    "source",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{% for b in range(99999) %}xxxxxxxxxxxx{% endfor %}{% endfor %}",
    ],
)
def test_endless_templates_are_stopped(source: str) -> None:
    template = ChatTemplate(source, time_limit_s=0.3)
    with pytest.raises(TemplateError, match=r"too long|without end"):
        template.render(user("Hi"))
    # Nothing strikes later.
    for _ in range(100_000):
        pass
    assert ChatTemplate("{{ 1 }}", time_limit_s=0.3).render(()).prompt == "1"
