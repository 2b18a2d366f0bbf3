"""The report's page in a browser: its links, and a narrow screen."""

import pytest

from grader.report.html.page import page as render_page
from grader.report.records import CheckVerdict, Report, Status, StepVerdict

TITLE = "Scores are q·k over √d_k, whatever the number of queries and of keys may be."


def make_step(name, status):
    check = CheckVerdict("a_check", "attention_scores", TITLE, status, 0, 2.0, "It leaks.")
    return StepVerdict(name, name.partition("_")[2], status, 0, 2.0, (check,))


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The address of a report."""
    failed = [make_step(name, Status.FAILED) for name in ("step03_mask", "step05_output")]
    steps = (make_step("step02_scores", Status.PASSED), *failed)
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_page(Report("mine", "0", "visible", 0, "process", steps)), "utf-8")
    return path.as_uri()


def test_link_in_the_overview_opens_its_step(report, open_page):
    page = open_page(report)
    section = page.locator("details.step").nth(2)
    assert section.get_attribute("open") is None
    page.get_by_role("navigation").get_by_role("link", name="5. output").press("Enter")
    assert section.get_attribute("open") is not None
    assert page.url.endswith("#step-5")
    assert section.locator("summary").first.bounding_box()["y"] >= 0


def test_address_with_a_step_opens_it(report, open_page):
    section = open_page(f"{report}#step-5", 400).locator("details.step").nth(2)
    assert section.get_attribute("open") is not None


def test_titles_have_room_on_a_narrow_screen(report, open_page):
    page = open_page(report, 400)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    title = page.get_by_role("heading", name=TITLE).first
    title.wait_for()
    assert title.bounding_box()["width"] > 250
