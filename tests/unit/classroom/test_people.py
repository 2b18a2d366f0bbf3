"""Whose work it is: the rule, and names that were chosen to break it."""

import pytest

from grader.classroom.course import parse_course
from grader.classroom.exports.gradebooks import LAYOUTS, find_layout, list_people
from grader.classroom.exports.grades import Options
from grader.classroom.exports.returning import moodle_feedback
from grader.classroom.marking import Rules
from grader.classroom.notices import list_strangers
from grader.classroom.overrides import Override
from grader.classroom.people import person, resolve
from grader.classroom.tables import MATCHES, read_matches, read_roster, work_key, write_matches
from grader.report.problem import CourseError
from grader.report.records import Who
from grader.steps import registry
from tests.support.classes import HOSTILE, filled, right

REGISTRY = registry.load()
LIST = [
    person("s1", Who("", "11", "Anna Abel", "a@x.org")),
    person("s2", Who("", "", "Ben Beck", "b@x.org")),
    person("s3", Who("", "", "Kim Lee", "k3@x.org")),
    person("s4", Who("", "", "Kim Lee", "k4@x.org")),
    person("s5", Who("", "", "Cy O'Cole", "")),
    person("Thomas Martin", Who("", "", "Thomas Martin")),
    person("s7", Who("", "", "Martin Thomas")),
    person("s8", Who("", "41", "7")),
]
TEAM = {"Red": ["s1", "Ben Beck"]}


def on(platform, number, name="", student=None, **more):
    """Work from a platform."""
    return right(student or f"{name}_{number}", who=Who(platform, number, name, **more))


def owners(class_, people=LIST, groups=(), by_hand=()):
    """The ids of each work's owners, or the reason why it has none."""
    found = resolve(class_, people, dict(groups), dict(by_hand))
    ids = {
        student: [found.directory.people[place].id for place in places]
        for student, places in found.owners.items()
    }
    return {student: found.unmatched.get(student) or mine for student, mine in ids.items()}


# What is handed in -> whose it is, or a part of the reason why nobody knows.
RULE = {
    "number": ([on("Moodle", "11", "Anna Abel")], [["s1"]]),
    "number without a name": ([on("Canvas", "11", student="abelanna_11")], [["s1"]]),
    "number of another name": ([on("Moodle", "11", "Eve Ed")], ["the number of s1, but another"]),
    "number of a name without letters": ([on("Moodle", "41", "7")], [["s8"]]),
    "number of another name without letters": ([on("Moodle", "41", "8")], ["s8, but another"]),
    "id": ([right("s2")], [["s2"]]),
    "login": ([right("Lab 1", who=Who("Blackboard", login="s2"))], [["s2"]]),
    "login of another name": ([right("x", who=Who("ILIAS", login="s2", name="Eve"))], ["another"]),
    "address": ([right("x", who=Who("Autolab", email="B@X.org"))], [["s2"]]),
    "name": ([right("Ben Beck")], [["s2"]]),
    "name as Moodle writes it": ([on("Moodle", "99", "Cy OCole")], [["s5"]]),
    "name of two people": ([right("Kim Lee")], ["2 people have the name"]),
    "name with the words of another's": ([right("Martin Thomas")], [["s7"]]),
    "id that is a name, too": ([right("Thomas Martin")], [["Thomas Martin"]]),
    "part of a name": ([right("Ben")], ["no person on the class list"]),
    "capitals": ([right("BEN BECK")], ["no person on the class list"]),
    "name of somebody with another number": (
        [on("Moodle", "12", "Anna Abel")],
        ["s1 has another number"],
    ),
    "two claims by name": (
        [on("Moodle", "98", "Ben Beck"), right("b@x.org", who=Who(name="Ben Beck"))],
        ["2 submissions have the name of s2"] * 2,
    ),
    "a claim by number and one by name": (
        [on("Moodle", "11", "Anna Abel"), right("Anna Abel")],
        [["s1"], "other work is surely that of s1"],
    ),
    "a claim by id and one by name": ([right("s2"), right("Ben Beck")], [["s2"], "other work"]),
    "a team's folder": ([on("Moodle", "", "Ben Beck", "Ben Beck")], ["only a team's folder"]),
    "a login that is chosen": (
        [on("GitHub", "s2", student="s2"), right("Ben Beck")],
        ["2 submissions have the name of s2"] * 2,
    ),
    "blind": ([on("Moodle", "4711", "Participant")], ["no person"]),
}


@pytest.mark.parametrize(("class_", "wanted"), RULE.values(), ids=RULE)
def test_rule(class_, wanted):
    found = list(owners(class_).values())
    assert len(found) == len(wanted)
    for mine, expected in zip(found, wanted):
        assert mine == expected if isinstance(expected, list) else expected in mine


def test_without_a_class_list_nobody_is_unmatched():
    class_ = [right("anna"), on("Moodle", "11", "Anna"), right("Anna"), right("")]
    assert owners(class_, []) == {one.student: [one.student] for one in class_}


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_hostile_name_is_nobodys_and_takes_nothing(tmp_path, name):
    class_ = [right("s2"), right(name), on("Moodle", "77", name), on("Moodle", "11", "Anna Abel")]
    found = owners(class_)
    assert (found["s2"], found["Anna Abel_11"]) == (["s2"], ["s1"])
    assert all(isinstance(found[one.student], str) for one in class_[1:3])
    answer = resolve(class_, LIST)
    write_matches(tmp_path / MATCHES, answer)
    assert read_matches(tmp_path / MATCHES) == {}
    filled = (tmp_path / MATCHES).read_text(encoding="utf-8").rstrip("\n") + "s3\n"
    (tmp_path / MATCHES).write_text(filled, encoding="utf-8")
    if name.strip():
        assert list(read_matches(tmp_path / MATCHES)) == [work_key(class_[2].student)]


CHOSEN = ["s1", "11", "Anna Abel", "a@x.org", "Anna Abel_11", "Participant 11", "Red", "", "Abel"]


@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("other", CHOSEN)
def test_no_chosen_name_takes_or_blocks_work_that_a_number_tells(name, other):
    anna = on("Moodle", "11", "Anna Abel", files=("Anna Abel_11_assignsubmission_file",))
    evil = [on("Moodle", "66", name), on("Moodle", "67", other)]
    for class_ in ([anna, *evil], [*evil, anna]):
        answer = resolve(class_, LIST, {"Red": ["s5"]})
        assert [one.id for one in answer.owners_of(anna)] == ["s1"]
        pages = [page for page, _ in moodle_feedback(class_, Options(answer=answer))]
        assert pages == ["Anna Abel_11_assignsubmission_file/feedback.html"]
        rows = f"Participant 11,Anna Abel,a@x.org,,Sent,,10\nParticipant 66,{name},,,Sent,,10\n"
        merged = filled("Moodle", HEAD + rows, class_, answer)
        assert "Participant 11,Anna Abel,a@x.org,,Sent,10,10\n" in merged.text
        assert [one for one in merged.unmatched if one == anna.student] == []


# Teams.

TEAMS = {
    "by its name": ([on("Moodle", "11", "Red")], [["s1", "s2"]]),
    "by its folder": ([on("Moodle", "", "Red", "Red")], [["s1", "s2"]]),
    "a member by number": (
        [on("Moodle", "55", "Red"), on("Moodle", "11", "Anna Abel")],
        [["s2"], ["s1"]],
    ),
    "a stranger with a member's name": (
        [on("Moodle", "55", "Red"), on("Moodle", "98", "Ben Beck")],
        [["s1", "s2"], "other work is surely that of s2"],
    ),
    "two of its name": (
        [on("Moodle", "55", "Red"), on("Moodle", "56", "Red")],
        ["2 submissions are called Red"] * 2,
    ),
}


@pytest.mark.parametrize(("class_", "wanted"), TEAMS.values(), ids=TEAMS)
def test_team(class_, wanted):
    assert [*owners(class_, groups=TEAM).values()] == wanted


@pytest.mark.parametrize(
    ("members", "wanted"),
    [(("s1", "b@x.org"), ["s1", "s2"]), (("s1", "zz"), ["s1"]), (("zz",), "none of its members")],
)
def test_platform_names_those_who_handed_in_together(members, wanted):
    work = right("submission_7", who=Who("Gradescope", members=members))
    (found,) = owners([work]).values()
    assert found == wanted if isinstance(wanted, list) else wanted in found


def test_members_need_no_class_list():
    found = owners([right("Red"), right("Ben Beck")], [], TEAM)
    assert found == {"Red": ["s1"], "Ben Beck": ["Ben Beck"]}


# The instructor's word.


def test_instructor_decides(tmp_path):
    class_ = [right("Ben"), right("Kim Lee"), right("s2"), on("Moodle", "11", "Anna Abel")]
    path = tmp_path / MATCHES
    write_matches(path, resolve(class_, LIST))
    text = path.read_text(encoding="utf-8")
    assert text.splitlines()[0].endswith("reason,student_id")
    assert 'Ben,,,,,"no person on the class list has this name, id or number",\n' in text
    assert "Kim Lee,,,,,2 people have the name,\n" in text
    path.write_text(text.replace('number",\n', 'number",s5\n'), encoding="utf-8")
    by_hand = read_matches(path)
    assert by_hand == {"Ben": ("s5",)}
    rules = Rules(parse_course('title = "x"', REGISTRY), (), LIST, by_hand=by_hand).settle(class_)
    assert rules.answer.unmatched == {"Kim Lee": "2 people have the name"}
    write_matches(path, rules.answer)  # the row stays, though the work is known now
    assert read_matches(path) == by_hand
    assert path.read_text(encoding="utf-8").count("\n") == 3


def test_own_columns_of_the_instructor_stay(tmp_path):
    path = tmp_path / MATCHES
    path.write_text("work;student_id;remark\nx;s5;by mail\ny;;\n", encoding="utf-16")
    write_matches(path, resolve([right("x"), right("y")], LIST))
    text = path.read_text(encoding="utf-8-sig")
    assert text.splitlines()[0].endswith("student_id;remark")
    assert "x;;;;;;s5;by mail\n" in text
    assert read_matches(path) == {"x": ("s5",)}


@pytest.mark.parametrize(
    ("by_hand", "wanted"),
    [
        ({"x": ["s5"]}, [["s5"], ["s2"]]),
        ({"x": ["s2"]}, [["s2"], "other work is surely that of s2"]),
        ({"x": ["s5", "s1"]}, [["s5", "s1"], ["s2"]]),
        ({"x": ["zz"]}, ["matches.csv: nobody is called zz", ["s2"]]),
        ({"x": ["Kim Lee"]}, ["matches.csv: 2 people are called Kim Lee", ["s2"]]),
        ({"x": ["s5"], "s2": ["s5"]}, ["2 submissions have the id of s5"] * 2),
    ],
)
def test_instructors_word_stands_against_all(by_hand, wanted):
    found = owners([right("x"), right("s2")], by_hand=by_hand)
    assert [*map(sorted_ids, found.values())] == [*map(sorted_ids, wanted)]


def sorted_ids(mine):
    return sorted(mine) if isinstance(mine, list) else mine


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("work,reason\nx,y\n", "no column `student_id`"),
        ("work,student_id\nx,s1\nx,s2\n", "has 'x' twice, with other owners"),
        ('work,student_id\n"x,s1\n', "a quote in it is not closed"),
    ],
)
def test_wrong_matches_are_one_sentence(tmp_path, text, why):
    (tmp_path / MATCHES).write_text(text, encoding="utf-8")
    with pytest.raises(CourseError, match=why) as found:
        read_matches(tmp_path / MATCHES)
    assert "\n" not in str(found.value)


# Changes by hand and extensions are for the owner of the work, and for nobody who is called so.


def named(text, class_, people=LIST, groups=""):
    """Whose grade a change by hand changes, and what the instructor is told."""
    change = Override(2, text, "", 2.0, False, "", "Tim", "today")
    course = parse_course(f'title = "x"\n{groups}', REGISTRY)
    rules = Rules(course, [change], people).settle(class_)
    changed = [one.student for one in rules.apply(class_) if one.score == 2.0]
    return changed, [one for one in list_strangers(rules) if one.startswith("overrides")]


EVE, ANNA = on("Moodle", "99", "Anna Abel"), on("Moodle", "11", "Anna Abel")
CHANGES = {
    "by id": ("s1", [EVE, ANNA], [ANNA]),
    "by number": ("11", [EVE, ANNA], [ANNA]),
    "by name": ("Anna Abel", [EVE, ANNA], [ANNA]),
    "by address": ("A@x.org", [EVE, ANNA], [ANNA]),
    "by the work's own id": ("Anna Abel_99", [EVE, ANNA], [EVE]),
    "of somebody without work": ("s1", [EVE], []),
    "of two people": ("Kim Lee", [right("s3"), right("Kim Lee")], []),
    "of a team": ("Red", [on("Moodle", "55", "Red")], [on("Moodle", "55", "Red")]),
    "of a member": ("s1", [on("Moodle", "55", "Red")], []),
    "of nobody": ("zz", [ANNA], []),
}


@pytest.mark.parametrize(("text", "class_", "wanted"), CHANGES.values(), ids=CHANGES)
def test_change_by_hand_is_for_the_owner(text, class_, wanted):
    groups = '[groups]\nRed = ["s1", "s2"]\n'
    changed, told = named(text, class_, groups=groups)
    assert changed == [one.student for one in wanted]
    assert bool(told) is not bool(wanted)


def test_change_by_hand_without_a_class_list_needs_one_work():
    twins = [on("Moodle", "1", "Kim"), on("Moodle", "2", "Kim")]
    assert named("Kim", twins, [])[0] == []
    assert named("Kim_1", twins, [])[0] == named("1", twins, [])[0] == ["Kim_1"]


# Into the platforms' own tables.

HEAD = "Identifier,Full name,Email address,ID number,Status,Grade,Maximum grade\n"
ROWS = "Participant 31,Anna Abel,a@x.org,s1,Sent,,10\nParticipant 32,Ben Beck,b@x.org,,Sent,,10\n"
INTO = {
    "the id number": ([right("s1")], ROWS, {"31": "10"}),
    "the name": ([right("Ben Beck")], ROWS, {"32": "10"}),
    "the number of the download": ([on("Moodle", "32", "Ben Beck")], ROWS, {"32": "10"}),
    "a number that the file does not have": ([on("Moodle", "40", "Ben Beck")], ROWS, {}),
    "a name that somebody listed has chosen": (
        [right("s2")],
        "Participant 31,Ben Beck,a@x.org,,Sent,,10\n",
        {},
    ),
    "two rows of that name": (
        [right("s5")],
        "Participant 1,Cy O'Cole,,,Sent,,10\nParticipant 2,Cy OCole,,,Sent,,10\n",
        {},
    ),
    "a namesake's row": ([right("s3")], "Participant 1,Kim Lee,,,Sent,,10\n", {}),
    "the address of a namesake": (
        [right("s3")],
        "Participant 1,Kim,k3@x.org,,Sent,,10\n",
        {"1": "10"},
    ),
    "an id that is somebody's number": ([right("32")], ROWS, {}),
    "a formula": ([right("=1+1")], ROWS, {}),
}


@pytest.mark.parametrize(("class_", "rows", "wanted"), INTO.values(), ids=INTO)
def test_grade_goes_to_the_owners_row(class_, rows, wanted):
    people = [*LIST[1:], person("s1", Who("", "", "Anna Abel", "a@x.org"))]
    answer = resolve(class_, people)
    merged = filled("Moodle", HEAD + rows, class_, answer)
    cells = [line.split(",") for line in merged.text.splitlines()[1:]]
    assert {cell[0].split()[1]: cell[5] for cell in cells if cell[5]} == wanted
    assert len(merged.unmatched) + len(answer.unmatched) >= len(class_) - merged.written


def test_two_claims_on_a_row_leave_it_empty():
    class_ = [right("s1"), right("a@x.org"), right("b@x.org")]
    merged = filled("Moodle", HEAD + ROWS, class_)
    assert merged.written == 2  # the id stands against the address
    assert list(merged.unmatched) == ["a@x.org"]
    merged = filled("Moodle", HEAD + ROWS, [right("Ben Beck"), right("b@x.org")])
    assert (merged.text, len(merged.unmatched)) == (HEAD + ROWS, 2)


def test_numbers_of_another_kind_on_the_own_list_do_not_count():
    people = [person("s1", Who("", "900", "Anna Abel")), person("s2", Who("", "901", "Ben Beck"))]
    class_ = [right("s1"), right("s2")]
    answer = resolve(class_, people)
    assert filled("Moodle", HEAD + ROWS, class_, answer).written == 2


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.platform)
def test_example_of_a_table_is_recognised(layout):
    assert find_layout([layout.example.split(",")]) == (layout, 0)
    with pytest.raises(CourseError, match=f"not a table that {layout.platform} exported"):
        filled(layout.platform, "a,b\n1,2\n", [])
    assert list_people([["a", "b"]]) == []


def test_roster_of_github_classroom_has_the_logins(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("identifier,github_username,github_id,name\ns1,AAbel,77,Anna\ns2,,,Ben\n")
    listed = read_roster(path)
    class_ = [right("lab1-aabel", who=Who("GitHub", "aabel")), right("s1", who=Who("GitHub", "s2"))]
    found = owners(class_, listed)
    assert found["lab1-aabel"] == ["s1"]
    assert isinstance(found["s1"], str)  # a login that is called as somebody's id


def test_table_of_github_classroom_has_the_times(tmp_path):
    path = tmp_path / "grades.csv"
    head = "github_username,roster_identifier,submission_timestamp,points_awarded\n"
    path.write_text(f"{head}AAbel,s1,2026-11-20 12:00:00 UTC,\nbb,s2,2026-11-21T12:00:00+01:00,\n")
    listed = read_roster(path)
    assert [one.who.submitted[:16] for one in listed] == ["2026-11-20T12:00", "2026-11-21T12:00"]
