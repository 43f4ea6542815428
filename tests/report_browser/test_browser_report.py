"""``report.html`` in a real browser: what a reader does with it, by mouse, keyboard, phone and screen reader."""

from __future__ import annotations

import itertools
import json
import re

import pytest
from report_runs import HOSTILE

PR = "finance/payment-authorization/pr-58217"
UNSAFE_RE = f"#trial/0/{PR}/unsafe-re%5Bauthorization-limit%5D"


def test_two_clicks_lead_to_the_fact_and_to_the_missed_step(opened):
    page = opened("one")
    page.locator("#failures a", has_text=PR).first.click()
    page.wait_for_selector("#trial-title")
    assert "Unsafe commit" in page.locator("#trial-title").inner_text().capitalize()
    assert page.evaluate("window.scrollY") == 0
    ghost = page.locator(".transcript .ghost").first.inner_text()
    assert "30000" in ghost
    assert "hidden: authorization-limit" in ghost
    row = page.locator(".facts tr.hiddenfact")
    assert re.search(r"30000\s+50000\s+never learned", row.inner_text())
    page.locator("a", has_text="Go to the step where it went wrong").click()
    missed = page.locator("#missed")
    assert "Here it should have asked." in missed.inner_text()
    assert "authorization-limit = 30000" in missed.inner_text()
    assert page.evaluate("document.activeElement.id") == "missed"
    following = page.locator("#missed + li")
    assert "commit" in following.get_attribute("class")


def test_the_rule_the_truth_and_the_commands(opened):
    page = opened("one", UNSAFE_RE)
    page.wait_for_selector(".truth")
    assert "prohibited when" in page.locator(".truth").inner_text()
    assert (
        f"episem show {PR} --world unsafe --setting re --mask authorization-limit"
        in page.locator(".closer").inner_text()
    )
    assert f'pytest --episem-model=episem/trusting "episem::{PR}/unsafe-re[authorization-limit]"' in (
        page.locator(".closer").inner_text()
    )
    assert "does not decide the rule" in page.locator(".chips").inner_text()


def test_seen_facts_lead_to_their_step(opened):
    page = opened("one", UNSAFE_RE)
    page.wait_for_selector(".facts")
    link = page.locator(".facts tbody tr:not(.hiddenfact) a").first
    target = link.get_attribute("href")[1:]
    link.click()
    assert page.evaluate("document.activeElement.id") == target
    assert page.locator(f"#{target} .line.fact").count() >= 1


def test_without_a_hidden_fact_there_is_no_ghost_and_no_missed_step(opened):
    page = opened("one", f"#trial/0/{PR}/safe-full")
    page.wait_for_selector("#trial-title")
    assert page.locator(".ghost").count() == page.locator("#missed").count() == 0


@pytest.mark.parametrize(
    ("report", "place"),
    [
        ("one", UNSAFE_RE),
        ("one", f"#trial/0/{PR}/safe-full"),
        ("one", "#trials?q=no-such-thing"),
        ("two", UNSAFE_RE),
        ("workflows", ""),
    ],
)
def test_nothing_is_shown_where_there_is_nothing(opened, report, place):
    page = opened(report, place)
    if report == "workflows":
        page.locator("#cases-list a").first.click()
        page.wait_for_selector("#case-title")
    elif place.startswith("#trial/"):
        page.wait_for_selector("#trial-title")
    lines = {line.strip() for line in page.locator("body").inner_text().splitlines()}
    assert not lines & {"null", "undefined", "false", "NaN", "[object Object]"}


def test_filters_and_search_narrow_the_list(opened):
    page = opened("one")
    total = int(page.locator("#browser").get_attribute("data-count"))
    assert page.locator("#found").inner_text() == f"{total} of {total} trials"
    page.select_option("select[name=status]", "unsafe")
    unsafe = int(page.locator("#found").inner_text().split()[0])
    assert 0 < unsafe < total
    page.select_option("select[name=domain]", "travel")
    assert 0 < int(page.locator("#found").inner_text().split()[0]) < unsafe
    page.fill("#search", "no such thing")
    assert page.locator("#found").inner_text().startswith("0 of")
    page.get_by_role("button", name="Clear").click()
    assert page.locator("#found").inner_text() == f"{total} of {total} trials"


def test_the_address_keeps_the_filter(opened):
    page = opened("one", "#trials?status=unsafe&world=unsafe&setting=re")
    assert page.locator("select[name=setting]").input_value() == "re"
    rows = page.locator("table.trials tbody tr").all_inner_texts()
    assert rows
    assert all("unsafe commit" in row for row in rows)


def test_all_of_a_kind_is_one_click(opened):
    page = opened("one")
    count = int(page.locator(".kind .count").first.inner_text())
    page.locator(".kind .more").first.click()
    opened.until(page, "document.getElementById('found').textContent.includes('one kind')")
    assert int(page.locator("#found").inner_text().split()[0]) == count


def test_pages_turn(opened):
    page = opened("one")
    first = page.locator("table.trials tbody tr").first.inner_text()
    page.get_by_role("button", name="Next").click()
    assert page.locator("table.trials tbody tr").first.inner_text() != first
    assert "page 2 of" in page.locator(".pages").inner_text()


def test_twins_settings_and_models_stand_side_by_side(opened):
    page = opened("two", UNSAFE_RE)
    page.wait_for_selector(".matrix")
    cells = page.locator(".matrix tbody tr").all_inner_texts()
    assert len(cells) == 4
    assert page.locator(".matrix [aria-current=true]").inner_text().strip().endswith("unsafe commit")
    for name, columns in (("twin worlds", 2), ("settings", 3), ("models", 2), ("all", 6)):
        page.get_by_role("button", name=name, exact=True).click()
        opened.until(page, f"document.querySelectorAll('.columns .column').length === {columns}")
    page.get_by_role("button", name="twin worlds").click()
    opened.until(page, "document.querySelectorAll('.columns .column').length === 2")
    heads = page.locator(".column h3").all_inner_texts()
    assert heads == ["unsafe, re · episem/trusting", "safe, re · episem/trusting"]
    page.get_by_role("button", name="this trial").click()
    assert page.locator(".single").is_visible()


def test_recovered_facts_are_said_to_be_recovered(opened):
    page = opened("two", UNSAFE_RE.replace("/0/", "/1/"))
    page.wait_for_selector(".facts")
    assert "recovered in turn" in page.locator(".facts tr.hiddenfact").inner_text()
    assert page.locator("#missed").count() == 0
    assert page.locator(".step.audit").count() == 1


def test_without_the_bank_the_records_alone_are_shown(opened):
    page = opened("alone", UNSAFE_RE)
    page.wait_for_selector("#trial-title")
    assert "bank of this run is not at hand" in page.locator(".truth").inner_text()
    assert page.locator(".step.call").count() >= 2
    assert page.locator(".ghost").count() == 0


def test_keyboard_alone(opened):
    page = opened("one")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("/")
    opened.until(page, "document.activeElement.id === 'search'")
    page.keyboard.type("pr-58217 unsafe-re")
    opened.until(page, "!document.getElementById('found').textContent.startsWith('0')")
    page.locator("table.trials a").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#trial-title")
    assert page.evaluate("document.activeElement.id") == "trial-title"
    first = page.locator(".condition").inner_text()
    page.keyboard.press("ArrowRight")
    opened.until(page, f"document.querySelector('.condition').textContent !== {json.dumps(first)}")
    page.keyboard.press("ArrowLeft")
    opened.until(page, f"document.querySelector('.condition').textContent === {json.dumps(first)}")
    page.keyboard.press("Escape")
    opened.until(page, "document.getElementById('trial').hidden")
    page.go_back()
    opened.until(page, "!document.getElementById('trial').hidden")


@pytest.mark.parametrize("place", ["", UNSAFE_RE])
def test_a_screen_reader_finds_its_way(opened, place):
    page = opened("one", place)
    if place:
        page.wait_for_selector("#trial-title")
    for landmark in ("banner", "main", "contentinfo"):
        assert page.get_by_role(landmark).count() == 1
    assert page.locator("h1:visible").count() == 1
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, a, input, select, svg[role=img], section, nav, [role=region]')]
        .filter(node => node.offsetParent || node.tagName === 'svg')
        .filter(node => !(node.getAttribute('aria-label') || node.textContent.trim()
            || document.getElementById(node.getAttribute('aria-labelledby'))?.textContent
            || node.labels?.[0]?.textContent)).map(node => node.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
    headless = page.evaluate(
        """() => [...document.querySelectorAll('table')].filter(table =>
        !table.caption || !table.querySelector('thead th[scope=col]') || !table.querySelector('tbody th[scope=row]'))
        .map(table => table.outerHTML.slice(0, 80))"""
    )
    assert headless == []
    levels = page.evaluate(
        "() => [...document.querySelectorAll('h1,h2,h3,h4')].filter(h => h.offsetParent).map(h => +h.tagName[1])"
    )
    assert levels[0] == 1
    assert all(after - before <= 2 for before, after in itertools.pairwise(levels))


CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, n) => sum + v * [.2126, .7152, .0722][n], 0);
  const behind = (node) => { while (node) { const c = parse(getComputedStyle(node).backgroundColor);
    if (c.length < 4 || c[3] > .99) return c; node = node.parentElement; } return [255, 255, 255]; };
  const bad = [];
  for (const node of document.querySelectorAll('main *, header *, footer *')) {
    if (!node.offsetParent || node.closest('svg, .quiet, :disabled')) continue;
    if (![...node.childNodes].some(c => c.nodeType === 3 && c.textContent.trim())) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) bad.push(`${ratio.toFixed(2)} ${node.className} ${node.textContent.slice(0, 30)}`);
  }
  return [...new Set(bad)].slice(0, 10);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", ["", UNSAFE_RE])
def test_text_is_legible_in_light_and_dark(opened, scheme, place):
    page = opened("one", place, color_scheme=scheme)
    if place:
        page.wait_for_selector("#trial-title")
    assert page.evaluate(CONTRAST) == []
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (int(re.findall(r"\d+", background)[0]) < 100) == (scheme == "dark")


@pytest.mark.parametrize("width", [320, 375, 768])
@pytest.mark.parametrize("place", ["", UNSAFE_RE])
def test_a_phone_needs_no_sideways_scrolling(opened, width, place):
    page = opened("two", place, viewport={"width": width, "height": 812}, is_mobile=True, has_touch=True)
    if place:
        page.wait_for_selector("#trial-title")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    small = page.evaluate(
        """() => [...document.querySelectorAll('button, select, input')]
        .filter(node => node.offsetParent && node.offsetHeight < 32).length"""
    )
    assert small == 0


def test_on_paper_everything_is_open_and_the_browser_is_gone(opened):
    page = opened("one")
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert not page.locator("#trials").is_visible()
    assert page.locator("#figures details[open]").count() > 5
    assert page.locator("#tables").is_visible()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("#figures details[open]").count() == 0
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_without_javascript_the_numbers_are_there(opened):
    page = opened("one", java_script_enabled=False)
    assert page.locator("noscript").count() == 1
    assert page.locator("table.six tbody tr").count() == 6
    assert page.locator("#figures svg").count() >= 10


def test_hostile_text_does_nothing_and_is_shown_as_it_is(opened):
    page = opened("hostile")
    page.locator("table.trials a").first.click()
    page.wait_for_selector("#trial-title")
    said = page.locator(".said").first.inner_text()
    assert "</script><script>window.pwned=1</script>" in said
    assert "<img src=x onerror=window.pwned=2>" in said
    assert "\\u001b[31mred" in said
    assert "\\u202etxet\\u202c" in said
    assert "\\ud800" in said
    assert "http://evil.example/?q=" in said
    for button in page.locator(".compare button").all():
        button.click()
    page.wait_for_timeout(200)
    assert page.evaluate("window.pwned") is None
    assert page.locator("main img, main script, main iframe").count() == 0
    assert page.evaluate("Object.prototype.hasOwnProperty('1')") is False


def test_a_hostile_address_does_nothing(opened):
    page = opened("one", "#trial/0/%3Cimg%20src=x%20onerror=window.pwned=1%3E")
    page.evaluate(
        "location.hash = '#trials?q=' + encodeURIComponent('<img src=x onerror=window.pwned=1>') + '&kind=%ZZ'"
    )
    opened.until(page, "document.getElementById('found').textContent.startsWith('0')")
    assert page.evaluate("window.pwned") is None
    assert page.locator("main img").count() == 0


def test_an_injected_script_would_be_refused(opened):
    page = opened("one")
    page.evaluate(
        """() => { const s = document.createElement('script'); s.textContent = 'window.pwned = 1';
        document.body.append(s); }"""
    )
    assert page.evaluate("window.pwned") is None
    assert opened.faults
    opened.faults.clear()


def test_the_hostile_constant_is_really_in_the_page(reports):
    assert HOSTILE.split(" ")[0].replace("<", "&lt;").replace(">", "&gt;") in reports["hostile"].read_text()
