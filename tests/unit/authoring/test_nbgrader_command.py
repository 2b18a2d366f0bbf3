"""What `make nbgrader COURSE=…` says of rules that nbgrader cannot keep."""

import pytest

from grader.classroom.course import parse_course
from grader.classroom.people import person
from grader.cli.authoring.nbgrader import _unknown_to_nbgrader
from grader.report.records import Who
from grader.steps import registry

REGISTRY = registry.load()
EXTENDED = 'title = "x"\ndue = 2026-11-20T12:00:00Z\n[extensions]\n{} = 2026-11-24T12:00:00Z\n'
OWN = [person("cy", Who(name="Cy Cole"))]
CANVAS = [person("Cole, Cy (7)", Who("Canvas", "7", "Cy Cole"), logins=["cy"])]


@pytest.mark.parametrize(
    ("name", "roster", "told"),
    [
        ("cy", OWN, False),
        ("Cole", OWN, True),
        ('"Cy Cole"', OWN, True),
        ("cy", CANVAS, False),
        ('"Cy Cole"', CANVAS, True),
        ('"cy@x.org"', [], True),
        ("cy", [], False),
    ],
)
def test_extension_that_is_not_for_an_id_is_told(name, roster, told):
    """Elsewhere a name is enough, so the student would silently lose points here."""
    course = parse_course(EXTENDED.format(name), REGISTRY)
    found = [one for one in _unknown_to_nbgrader(course, roster) if "students by id only" in one]
    assert bool(found) == told


@pytest.mark.parametrize(("roster", "told"), [(OWN, False), (CANVAS, True), ([], False)])
def test_class_list_that_cannot_fill_nbgraders_database_is_told(roster, told):
    course = parse_course('title = "x"\n', REGISTRY)
    found = " ".join(_unknown_to_nbgrader(course, roster))
    assert ("so nobody was entered there" in found) == told
