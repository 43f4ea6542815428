"""The workflow suite's half of ``report.html`` in a real browser."""

from __future__ import annotations

LOST = "#case/0/some/work/lost"


def test_a_case_is_one_click_away_and_shows_every_step(opened):
    page = opened("workflows")
    assert page.locator("#cases-found").inner_text() == "4 of 4 cases"
    page.locator("#cases-list tbody tr", has_text="lost").first.locator("a").click()
    page.wait_for_selector("#case-title")
    assert page.locator("#report").is_hidden()
    steps = page.locator("#case .transcript .step").all_inner_texts()
    assert [" ".join(step.split()) for step in steps] == [
        "t0 before pay(), key k-pay: no answer (timeout)",
        "t1 does query pay fee 1 k-pay absent",
        "t1 sends pay(), new key request r1 fee 2 settled at 1",
        "t1 ends with finish completed",
    ]
    truth = page.locator("#case .truth").inner_text()
    assert "k-pay: never arrived" in truth
    assert "Goal reached at the deadline. What it claimed is so." in truth
    assert "null" not in page.locator("#case").inner_text()
    assert page.evaluate("document.activeElement.id") == "case-title"


def test_the_same_truth_of_every_agent_is_beside_it(opened):
    page = opened("workflows", LOST)
    page.wait_for_selector("#case-title")
    rows = [row.split() for row in page.locator("#case .matrix tbody tr").all_inner_texts()]
    assert rows == [
        ["episem/joint", "✓", "certified", "3", "2", "0"],
        ["episem/capability", "!", "handed", "off", "0", "1", "0"],
    ]
    page.locator("#case .matrix a", has_text="handed off").click()
    opened.until(page, "document.getElementById('case-title').textContent === 'handed off'")
    command = page.locator("#case .command").last.inner_text()
    assert command == (
        "pytest --episem-suite=workflows --episem-bank=small --episem-model=episem/capability "
        '"episem::workflows/some/work/lost"'
    )


def test_keys_lead_through_the_cases_and_back(opened):
    page = opened("workflows", "#case/0/some/work/landed")
    page.wait_for_selector("#case-title")
    page.keyboard.press("ArrowRight")
    opened.until(page, "location.hash === '#case/0/some/work/lost'")
    page.keyboard.press("Escape")
    opened.until(page, "!document.getElementById('report').hidden && document.getElementById('case').hidden")
    page.keyboard.press("/")
    opened.until(page, "document.activeElement.id === 'case-search'")


def test_filters_narrow_the_cases(opened):
    page = opened("workflows", "#cases?status=open")
    assert page.locator("#cases-found").inner_text() == "1 of 4 cases"
    assert page.locator("select[name=case-status]").input_value() == "open"
    page.get_by_role("button", name="Clear").click()
    page.fill("#case-search", "certified landed")
    assert page.locator("#cases-found").inner_text() == "2 of 4 cases"
    page.fill("#case-search", "no such thing")
    assert page.locator("#cases-found").inner_text() == "0 of 4 cases"


def test_both_suites_share_a_page_and_neither_disturbs_the_other(opened):
    page = opened("suites")
    trials, cases = page.locator("#found").inner_text(), page.locator("#cases-found").inner_text()
    assert trials.endswith("trials")
    assert cases == "2 of 2 cases"
    page.locator("table.trials a").first.click()
    page.wait_for_selector("#trial-title")
    assert page.locator("#report").is_hidden()
    page.evaluate("location.hash = '#case/0/some/work/lost'")
    page.wait_for_selector("#case-title")
    assert page.locator("#trial").is_hidden()
    page.evaluate("history.back()")
    opened.until(page, "!document.getElementById('trial').hidden && document.getElementById('case').hidden")
    page.evaluate("location.hash = '#workflows-tables'")
    opened.until(page, "!document.getElementById('report').hidden")
    assert page.locator("#trial").is_hidden()
    page.evaluate("location.hash = '#case/0/some/work/lost'")
    opened.until(page, "!document.getElementById('case').hidden && document.getElementById('report').hidden")
    page.evaluate("location.hash = '#tables'")
    opened.until(page, "!document.getElementById('report').hidden && document.getElementById('case').hidden")


def test_hostile_names_and_keys_do_nothing(opened):
    page = opened("hostile-workflows", LOST)
    page.wait_for_selector("#case-title")
    assert page.evaluate("window.pwned") is None
    assert page.locator("#case img").count() == page.locator("#case script").count() == 0
    assert "</script><script>window.pwned=1</script>" in page.locator("#case .chips, #case .command").last.inner_text()
    page.evaluate("location.hash = '#case/0/some/work/landed'")
    opened.until(page, "document.getElementById('case-title').textContent.startsWith('refuted')")
    assert "This record does not stand" in page.locator("#case .alert").first.inner_text()
    assert "\\u202etxet" in page.locator("#case .alert").first.inner_text()


def test_a_phone_shows_a_case_without_scrolling_sideways(opened):
    page = opened("workflows", LOST, viewport={"width": 360, "height": 740})
    page.wait_for_selector("#case-title")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_without_javascript_the_numbers_are_there(opened):
    page = opened("workflows", java_script_enabled=False)
    assert "Browsing the 4 cases needs JavaScript" in page.locator("noscript").first.inner_text()
    assert page.locator("table#workflows tbody tr").count() == 2
