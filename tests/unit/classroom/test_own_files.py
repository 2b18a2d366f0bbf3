"""Instructors' own files, as Canvas and Moodle write and read them."""

import dataclasses
import time

import pytest

from grader.classroom.course import Course
from grader.classroom.exports.canvas import canvas
from grader.classroom.exports.merging import score_text
from grader.classroom.exports.moodle import moodle
from grader.classroom.exports.options import Options
from grader.classroom.exports.people import Person
from grader.classroom.exports.returning import canvas_feedback, mail, moodle_feedback
from grader.classroom.marking import Rules
from grader.classroom.tables import read_roster
from grader.report.records import Grade, Who
from tests.support.classes import not_gradable, right, wrong

COLUMN = "Homework (77)"
CANVAS = f'Student,ID,Section,{COLUMN}\n    Points Possible,,,10.00\n"Abel, Anna",1201,A,{{}}\n'
MOODLE = (
    "Identifier,Full name,Grade,Maximum grade,Last modified (grade),Feedback comments\n"
    "Participant 1201,Anna O'Abel,{},10.00,-,\n"
)


def scored(points, who, student="anna"):
    return dataclasses.replace(right(student), who=who, grade=Grade(points, 10.0))


def into_canvas(points, cell, last=None, text=CANVAS):
    exported = {} if last is None else {"1201": (last,)}
    options = Options(column=COLUMN, exported=exported)
    return canvas(text.format(cell), [scored(points, Who("Canvas", "1201"))], options)


def into_moodle(points, cell="", name="Anna OAbel", last=None, **options):
    exported = {} if last is None else {"1201": (last,)}
    class_ = [scored(points, Who("Moodle", "1201", name))]
    return moodle(MOODLE.format(cell), class_, Options(exported=exported, **options))


@pytest.mark.parametrize(
    ("points", "wanted"),
    [(15.625, "15.63"), (0.005, "0.01"), (1.005, "1.01"), (2.0, "2"), (0.0, "0"), (9.994, "9.99")],
)
def test_half_a_hundredth_is_rounded_up(points, wanted):
    assert score_text(scored(points, Who()), None, ".") == wanted


def test_zero_that_was_exported_before_is_brought_up_to_date():
    """Canvas writes the 0 that it has read as 0.00."""
    assert "1201,A,7\n" in into_canvas(7.0, "0.00", last="0").text
    assert ",7,10.00" in into_moodle(7.0, "0.00", last="0").text


def test_zero_that_somebody_else_gave_is_left_alone():
    assert into_canvas(7.0, "0.00").kept == ("anna",)


def test_canvas_with_first_and_last_names_apart():
    text = CANVAS.replace("Student,", "LastName,FirstName,").replace("Possible,", "Possible,,")
    text = text.replace('"Abel, Anna"', "Abel,Anna")
    assert "Abel,Anna,1201,A,7\n" in into_canvas(7.0, "", text=text).text
    class_ = [dataclasses.replace(right("Anna Abel"), grade=Grade(7.0, 10.0))]
    merged = canvas(text.format(""), class_, Options(column=COLUMN))
    assert "Abel,Anna,1201,A,7\n" in merged.text


def test_canvas_class_list_with_first_and_last_names_apart(tmp_path):
    path = tmp_path / "gradebook.csv"
    path.write_text("LastName,FirstName,ID,Section\nAbel,Anna,1201,A\n", encoding="utf-8")
    (person,) = read_roster(path)
    assert (person.who.number, person.who.name) == ("1201", "Anna Abel")


def test_canvas_test_student_is_not_on_the_class_list(tmp_path):
    path = tmp_path / "gradebook.csv"
    text = 'Student,ID\n"Abel, Anna",1201\n"Student, Test",1999\n'
    path.write_text(text, encoding="utf-8")
    assert [person.who.number for person in read_roster(path)] == ["1201"]


def test_moodle_takes_no_grade_above_the_maximum():
    merged = into_moodle(11.5)
    assert ",10,10.00" in merged.text
    assert "1 score above the maximum is written as 10, because Moodle skips it." in merged.notes


def test_moodle_number_of_another_name_is_not_the_same_person():
    """A team's folder has the number of the team, which may be that of a participant."""
    merged = into_moodle(7.0, name="Team 3")
    assert merged.unmatched == ("anna",)
    assert merged.written == 0


def test_moodle_blind_marking_has_no_names():
    text = MOODLE.replace("Full name,", "Status,").replace("Anna O'Abel", "Submitted")
    class_ = [scored(7.0, Who("Moodle", "1201", "Participant"))]
    assert moodle(text.format(""), class_, Options()).written == 1


@pytest.mark.parametrize(("people", "status"), [(1, "評定"), (3, "評定"), (6, "評定 {}")])
def test_moodle_blind_class_list_in_any_language_has_no_names(tmp_path, people, status):
    """There the status stands right before the grade."""
    path = tmp_path / "worksheet.csv"
    rows = "".join(f"参加者471{n},{status.format(n)},,10.00,はい\n" for n in range(people))
    path.write_text(f"ID,状態,評点,最大評点,変更\n{rows}", encoding="utf-8")
    found = read_roster(path)
    assert [one.id for one in found] == [f"参加者_471{n}" for n in range(people)]
    assert found[0].is_called("参加者_4710", Who("Moodle", "4710", "参加者"))
    class_ = [scored(7.0, Who("Moodle", "4710", "参加者"))]
    text = path.read_text(encoding="utf-8")
    assert moodle(text, class_, Options(column="評点")).written == 1


@pytest.mark.parametrize("people", [1, 3, 6])
def test_moodle_names_before_numbers_of_another_kind_are_names(tmp_path, people):
    """As the faculty's, which is the same for everybody."""
    path = tmp_path / "worksheet.csv"
    rows = "".join(f"Uczestnik 471{n},Anna {n},,11,Oddano,,10.00,Tak\n" for n in range(people))
    path.write_text(f"ID,Nazwisko,Nr,Wydział,Stan,Ocena,Maks,Zmiana\n{rows}", encoding="utf-8")
    assert [one.who.name for one in read_roster(path)] == [f"Anna {n}" for n in range(people)]


@pytest.mark.parametrize("people", [1, 5])
def test_moodle_class_list_of_blind_marking_has_no_names(tmp_path, people):
    path = tmp_path / "worksheet.csv"
    rows = "".join(f"Participant {n},Submitted for grading,\n" for n in range(people))
    path.write_text(f"Identifier,Status,Grade\n{rows}", encoding="utf-8")
    found = read_roster(path)
    assert [one.id for one in found] == [f"Participant_{n}" for n in range(people)]
    assert {one.who.name for one in found} == {""}
    assert found[0].is_called("Participant_0", Who("Moodle", "0", "Participant"))


def test_moodle_number_of_another_name_is_not_on_the_class_list(tmp_path):
    path = tmp_path / "worksheet.csv"
    path.write_text(MOODLE.format(""), encoding="utf-8")
    (person,) = read_roster(path)
    assert person.is_called("Anna OAbel_1201", Who("Moodle", "1201", "Anna OAbel"))
    assert not person.is_called("Team 3_1201", Who("Moodle", "1201", "Team 3"))


# teams

TEAM = (
    "Identifier,Full name,Email address,Grade,Maximum grade\n"
    "Participant 1201,Anna Abel,a@x.org,,10\nParticipant 1202,Bo Beck,b@x.org,,10\n"
)


@pytest.fixture
def team(tmp_path):
    """A team's graded work, and the options of its course."""
    path = tmp_path / "worksheet.csv"
    path.write_text(TEAM, encoding="utf-8")
    files = ("Team 1_1202_assignsubmission_file",)
    who = Who("Moodle", "1202", "Team 1", files=files)
    groups = {"Team 1": ["Anna Abel", "b@x.org"]}
    return wrong("Team 1_1202", who=who), Options(groups=groups, roster=read_roster(path))


def test_every_member_of_a_team_gets_its_grade(team):
    graded, options = team
    assert moodle(TEAM, [graded], options).text.count(",5,10\n") == 2


def test_student_who_is_called_as_a_team_is_gives_its_members_no_grade(team):
    graded, options = team
    mallory = right("Team 1_777", who=Who("Moodle", "777", "Team 1"))
    for class_ in ([graded, mallory], [mallory, graded]):
        merged = moodle(TEAM, class_, options)
        assert merged.text == TEAM
        assert merged.ambiguous == ("Anna Abel", "b@x.org")


def test_member_is_nobody_if_two_on_the_class_list_are_called_so(team, tmp_path):
    """Somebody took the name of a member, and stands above them in the file."""
    graded, options = team
    heading, anna, bo = TEAM.splitlines(keepends=True)
    text = f"{heading}Participant 1200,Anna Abel,m@x.org,,10\n{anna}{bo}"
    path = tmp_path / "worksheet.csv"
    path.write_text(text, encoding="utf-8")
    merged = moodle(text, [graded], dataclasses.replace(options, roster=read_roster(path)))
    assert merged.text.count(",5,10\n") == 1  # only Bo's
    assert merged.ambiguous == ("Anna Abel",)


def test_every_member_of_a_team_gets_its_page_in_moodle(team):
    graded, options = team
    names = [name for name, _ in moodle_feedback([graded], options)]
    assert names == [
        "Anna Abel_1201_assignsubmission_file/feedback.html",
        "Bo Beck_1202_assignsubmission_file/feedback.html",
    ]


def test_absent_person_gets_no_page_in_the_place_of_work_with_the_same_number(team):
    """Moodle finds a student by the number, which has work under another name."""
    _, options = team
    options = dataclasses.replace(options, groups={})
    (_, bo) = options.roster
    away = dataclasses.replace(not_gradable("bo"), who=dataclasses.replace(bo.who, absent="away"))
    zoe = right("Zoe Zed_1202", who=Who("Moodle", "1202", "Zoe Zed"))
    assert len(returned([away], options)[0]) == 1
    assert [name for name, _ in returned([zoe, away], options)[0]] == ["Zoe Zed"]
    by_hand = dataclasses.replace(away, grade=Grade(score=6.0, max_score=7.0))
    assert len(returned([zoe, by_hand], options)[0]) == 2


def test_every_member_of_a_team_gets_a_mail_with_the_teams_page(team):
    graded, options = team
    _, anna, bo = mail([graded], options)
    assert anna.startswith("a@x.org,Anna Abel,Team 1_1202,5,10,feedback/team_1_1202")
    assert bo.startswith("b@x.org,Bo Beck,Team 1_1202,5,10,feedback/team_1_1202")


def test_member_gets_the_teams_page_if_only_another_number_has_that_name(team):
    """Eve calls herself as Bo does, but her number is hers on the class list."""
    graded, options = team
    people = [
        (name, number, f"{name[0]}@x.org".lower())
        for name, number in (("Bo Beck", "7"), ("Eve", "8"))
    ]
    roster = [
        Person(mail, frozenset((name, mail)), Who("", number, name, mail))
        for name, number, mail in people
    ]
    options = dataclasses.replace(options, roster=roster, groups={"Team 1": ["Bo Beck"]})
    for number, readers in (("8", 2), ("7", 1)):  # Bo has work of his own
        alone = right(f"Bo Beck_{number}", who=Who("Moodle", number, "Bo Beck"))
        _, mailed = returned([graded, alone], options)
        assert [mail for mail, _, _ in mailed].count("b@x.org") == readers - 1


def test_wrong_team_gets_no_page_of_somebody_elses(team):
    graded, options = team
    options = dataclasses.replace(options, groups={})
    assert list(moodle_feedback([graded], options)) == []


@pytest.mark.parametrize("ending", ["step02_scores.py", "work.IPYNB", "all.zip", "notes.txt"])
def test_canvas_gets_feedback_under_a_name_that_fits_its_content(ending):
    """A text called `answers.pdf` would be a damaged document to its student."""
    files = ("a_1201_9000001_answers.pdf", f"a_1201_9000002_{ending}")
    graded = dataclasses.replace(right("a"), who=Who("Canvas", "1201", files=files))
    assert [name for name, _ in canvas_feedback([graded], Options())] == [files[1]]


def returned(class_, options):
    """Whose feedback goes where: the readers of the zip, and of the mails."""
    people = [(one.student, one.who) for one in class_]
    options = dataclasses.replace(options, people=people)
    zipped = [(name.split("_")[0], page) for name, page in moodle_feedback(class_, options)]
    mailed = [line.split(",")[:3] for line in list(mail(class_, options))[1:]]
    return zipped, mailed


def test_student_called_like_a_team_sends_the_members_no_second_page(team):
    """Neither of the two is known to be the team's, and its grade goes to nobody, too."""
    graded, options = team
    who = Who("Moodle", "1300", "Team 1", files=("Team 1_1300_assignsubmission_file",))
    liar = scored(1.0, who, "Team 1_1300")
    assert returned([graded, liar], options) == ([], [])


def test_student_called_like_a_team_who_hands_in_nothing_changes_nothing(team):
    graded, options = team
    who = Who("Moodle", "1300", "Team 1", "m@x.org", absent="nothing handed in")
    zipped, mailed = returned([graded, not_gradable("Team 1_1300", who=who)], options)
    assert [name for name, _ in zipped if name != "Team 1"] == ["Anna Abel", "Bo Beck"]
    assert [email for email, *_ in mailed] == ["a@x.org", "b@x.org", "m@x.org"]


def test_member_with_work_alone_gets_only_the_own_page(team):
    graded, options = team
    who = Who("Moodle", "1201", "Anna Abel", files=("Anna Abel_1201_assignsubmission_file",))
    zipped, mailed = returned([scored(3.0, who, "Anna Abel_1201"), graded], options)
    assert [name for name, _ in zipped] == ["Anna Abel", "Bo Beck"]
    assert zipped[0][1] != zipped[1][1]
    assert [student for *_, student in mailed] == ["Anna Abel_1201", graded.student]


def test_student_called_like_a_member_leaves_the_member_the_teams_page(team):
    graded, options = team
    who = Who("Moodle", "1300", "Anna Abel", files=("Anna Abel_1300_assignsubmission_file",))
    zipped, _ = returned([scored(3.0, who, "Anna Abel_1300"), graded], options)
    assert [name for name, _ in zipped][-2:] == ["Anna Abel", "Bo Beck"]


def test_readers_of_a_large_class_are_found_in_a_moment(team):
    graded, options = team
    who = Who("Moodle", "1", "Name")
    others = [
        (f"Name {n}_{n}", dataclasses.replace(who, number=str(n))) for n in range(2_000, 22_000)
    ]
    people = [*others, (graded.student, graded.who)]
    options = dataclasses.replace(options, people=people)
    started = time.process_time()
    assert len(list(moodle_feedback([graded], options))) == 2
    assert time.process_time() - started < 5.0


# students without a number, who are found by their names

LISTED = Who("", "", "Anna Abel", "a@x.org")  # what an own class list says of `anna`
TWO = (
    f"Student,ID,SIS Login ID,Section,{COLUMN}\n    Points Possible,,,,10\n"
    '"{}",1201,mallory,A,\n"Abel, Anna",1202,a@x.org,A,\n'
)


def test_name_that_is_another_students_id_takes_no_grade():
    """Students choose their names on a platform, but not their addresses."""
    mine = [dataclasses.replace(right("anna"), who=LISTED)]
    merged = canvas(TWO.format("anna"), mine, Options(column=COLUMN))
    assert (merged.text, merged.ambiguous) == (TWO.format("anna"), ("anna",))
    assert canvas(TWO.format("Mallory"), mine, Options(column=COLUMN)).text.endswith("A,10\n")
    text = TEAM.replace("Bo Beck", "anna")
    assert moodle(text, mine, Options()).ambiguous == ("anna",)
    assert ",a@x.org,10,10\n" in moodle(TEAM, mine, Options()).text


def test_id_that_is_another_ones_number_in_the_gradebook_takes_no_grade():
    listed = Who("", "", "Ben Beck", "b@x.org")
    text = CANVAS.format("") + '"Beck, Ben",1202,A,\n'
    merged = canvas(text, [dataclasses.replace(right("1201"), who=listed)], Options(column=COLUMN))
    assert (merged.text, merged.ambiguous) == (text, ("1201",))


def test_one_of_two_people_with_a_name_is_found_by_the_address():
    text = TEAM.replace("Bo Beck", "Anna Abel")
    mine = [dataclasses.replace(right("anna"), who=LISTED)]
    assert ",a@x.org,10,10\n" in moodle(text, mine, Options()).text


GROUPED = "Identifier,Full name,Email address,{},Group,Grade,Maximum grade\n" + "".join(
    f"Participant {n},{name},{name}@x.org,Sent,{group},,10\n"
    for n, (name, group) in enumerate([("Ann", "cy"), ("Bo", "cy"), ("Cy", "ann"), ("Di", "")], 11)
)


@pytest.mark.parametrize("title", ["Status", "Tila"])  # of a language that nopeek may not know
def test_group_in_moodle_that_is_called_as_a_student_takes_no_grade(title):
    for student in ("cy", "ann", "Sent"):
        merged = moodle(GROUPED.format(title), [right(student)], Options())
        assert (merged.written, merged.unmatched) == (0, (student,))
    assert moodle(GROUPED.format(title), [right("Cy"), right("Di@x.org")], Options()).written == 2


def test_columns_that_say_who_somebody_is_may_be_shared():
    """An institution may show departments, before addresses."""
    text = "Identifier,Full name,Department,Email address,Status,Grade,Maximum grade\n"
    text += "".join(f"Participant {n},{n} N,Physics,{n}@x.org,Sent,,10\n" for n in (11, 12))
    assert moodle(text, [right("11@x.org")], Options()).written == 1


@pytest.mark.parametrize("name", ["1", "_", "!", "1201"])
def test_moodle_number_of_a_team_without_words_is_nobodys(name, tmp_path):
    """The number in `1_1201` is the team's, and another one's on the class list."""
    assert into_moodle(7.0, name=name).unmatched == ("anna",)
    path = tmp_path / "worksheet.csv"
    path.write_text(MOODLE.format(""), encoding="utf-8")
    (person,) = read_roster(path)
    assert not person.is_called(f"{name}_1201", Who("Moodle", "1201", name))


@pytest.mark.parametrize("name", ["123", "🙂", "-:-"])
def test_moodle_number_of_a_name_without_words_is_that_persons(name):
    text = MOODLE.replace("Anna O'Abel", name).format("")
    class_ = [scored(7.0, Who("Moodle", "1201", name.replace(":", "")))]
    assert moodle(text, class_, Options()).written == 1


@pytest.mark.parametrize("into", [into_canvas, into_moodle])
def test_equal_grade_that_somebody_gave_is_not_recorded_as_nopeeks(into):
    """Else the next export replaces it, once the points have changed."""
    assert into(7.0, "7.00").cells == {}
    assert into(7.0, "7.00", last="7").cells == {"1201": "7"}
    assert into(7.0, "").cells == {"1201": "7"}


@pytest.mark.parametrize(
    ("cell", "worth", "is_known"),
    [
        ("8.3", "10.0", True),
        ("8", "10", True),
        ("8.3", "10.00", False),
        ("8.4", "10.0", False),
        ("9", "10", False),
    ],
)
def test_grade_that_moodle_shows_with_fewer_decimals_is_still_nopeeks(cell, worth, is_known):
    text = MOODLE.replace("10.00", worth).format(cell)
    class_ = [scored(7.0, Who("Moodle", "1201", "Anna OAbel"))]
    merged = moodle(text, class_, Options(exported={"1201": ("8.33",)}))
    assert (merged.kept == ()) == is_known


def test_grade_of_somebody_else_that_is_near_is_left_alone():
    text = MOODLE.replace("10.00", "10").format("7")
    class_ = [scored(7.3, Who("Moodle", "1201", "Anna OAbel"))]
    assert moodle(text, class_, Options()).kept == ("anna",)


# The number on the instructor's own class list decides, because names there are chosen.

NUMBERED = "student_id,name,number,email\neva,Eva Egger,12,e@x.org\nben,Ben Beck,13,b@x.org\n"
SHEET = (
    "Identifier,Full name,Grade,Maximum grade,Last modified (grade),Feedback comments\n"
    "Participant 12,Ben Beck,,10.00,-,\nParticipant 13,Benjamin Beck,,10.00,-,\n"
)
GRADEBOOK = (
    f"Student,ID,Section,{COLUMN}\n    Points Possible,,,10.00\n"
    '"Beck, Ben",12,A,\n"Beck, Benjamin",13,A,\n'
)


@pytest.fixture
def numbered(tmp_path):
    """An own class list with numbers; on the platform, number 12 is called like 13 there."""
    path = tmp_path / "roster.csv"
    path.write_text(NUMBERED)
    return read_roster(path)


@pytest.mark.parametrize("way", ["plain folder", "absent", "team"])
def test_grade_goes_to_the_number_on_the_own_list_and_not_to_a_chosen_name(numbered, way):
    rules = Rules(Course(), (), numbered)
    ben = scored(7.0, Who(), "ben")
    groups = {}
    if way == "absent":
        ben = scored(7.0, dataclasses.replace(numbered[1].who, absent="nothing was handed in"))
    elif way == "team":
        ben, groups = scored(7.0, Who("Moodle", "55", "Team 1"), "Team 1_55"), {"Team 1": ["ben"]}
    class_ = [rules.class_list.complete(one) for one in (ben, scored(0.0, Who(), "eva"))]
    options = Options(column=COLUMN, roster=numbered, groups=groups)
    merged = canvas(GRADEBOOK, class_, options)
    assert '"Beck, Ben",12,A,\n"Beck, Benjamin",13,A,7\n' in merged.text
    assert merged.unmatched == ("eva",)  # no word of that name is on the list
    merged = moodle(SHEET, class_, dataclasses.replace(options, column="Grade"))
    assert "Participant 13,Benjamin Beck,7,10.00" in merged.text
    assert "Participant 12,Ben Beck,,10.00" in merged.text
    assert merged.unmatched == ("eva",)


def test_number_of_the_only_one_who_has_one_on_the_list_counts(tmp_path):
    """It is given because the name there is another; somebody else has taken the listed one."""
    path = tmp_path / "roster.csv"
    path.write_text("student_id,name,number\nben,Ben Beck,13\neva,Eva Egger,\ncy,Cy Cole,\n")
    roster = read_roster(path)
    merged = canvas(
        GRADEBOOK,
        [scored(7.0, roster[0].who, "ben"), scored(0.0, roster[1].who, "eva")],
        Options(column=COLUMN, roster=roster),
    )
    assert '"Beck, Ben",12,A,\n"Beck, Benjamin",13,A,7\n' in merged.text


def test_mistyped_number_on_the_own_list_gives_no_stranger_a_grade(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("student_id,name,number\ncy,Cy Cole,13\neva,Eva Egger,\n")
    roster = read_roster(path)
    class_ = [scored(7.0, roster[0].who, "cy")]
    merged = canvas(GRADEBOOK, class_, Options(column=COLUMN, roster=roster))
    assert (merged.written, merged.unmatched) == (0, ("cy",))


def test_name_of_somebody_who_is_not_on_the_list_leads_to_no_listed_number(numbered):
    (tmp,) = (scored(7.0, Who(), "Ben Beck"),)
    merged = canvas(GRADEBOOK, [tmp], Options(column=COLUMN, roster=numbered[:1]))
    assert (merged.written, merged.unmatched) == (0, ("Ben Beck",))


@pytest.mark.parametrize(("number", "name"), [("12", "Ben Beck"), ("12", "b@x.org"), ("77", "Bo")])
def test_team_page_reaches_a_member_whose_name_or_address_another_has(numbered, number, name):
    work = scored(7.0, Who("Moodle", "55", "Team 1"), "Team 1_55")
    who = Who("Moodle", number, name)
    people = [(work.student, work.who), (f"{name}_{number}", who)]
    people.append(("Eva Egger_12", Who("Moodle", "12", "Eva Egger")))
    groups = {"Team 1": ["ben"]}
    options = Options(groups=groups, roster=numbered, people=people)
    assert [name for name, _ in moodle_feedback([work], options)] == [
        "Ben Beck_13_assignsubmission_file/feedback.html"
    ]
    assert [line.split(",")[0] for line in mail([work], options)][1:] == ["b@x.org"]


def test_member_of_the_own_list_with_work_of_that_number_gets_no_second_page(numbered):
    work = scored(7.0, Who("Moodle", "55", "Team 1"), "Team 1_55")
    alone = Who("Moodle", "13", "Benjamin Beck")
    options = Options(
        groups={"Team 1": ["ben"]},
        roster=numbered,
        people=[(work.student, work.who), ("Benjamin Beck_13", alone)],
    )
    assert [*moodle_feedback([work], options)] == []


def test_numbers_of_another_kind_on_the_own_list_are_not_the_platforms(tmp_path):
    """Such as those of the list's lines, which are small, as some numbers there are."""
    path = tmp_path / "roster.csv"
    path.write_text("number,student_id,name\n1,s1,Ana Abel\n2,s2,Li Wei\n")
    roster = read_roster(path)
    text = GRADEBOOK.replace('"Beck, Ben",12', '"Wei, Li",1').replace("Beck, Benjamin", "Abel, Ana")
    class_ = [scored(7.0, one.who, one.id) for one in roster]
    class_[1] = scored(3.0, roster[1].who, "s2")
    merged = canvas(text.replace(",13,", ",2,"), class_, Options(column=COLUMN, roster=roster))
    assert '"Wei, Li",1,A,3\n"Abel, Ana",2,A,7\n' in merged.text


def test_number_and_address_are_enough_if_the_name_is_written_otherwise(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("student_id,name,number,email\nben,Ben Beck,13,b@x.org\n")
    roster = read_roster(path)
    text = SHEET.replace("Full name,", "Full name,Email address,")
    text = text.replace("Ben Beck,", "Ben Beck,c@x.org,")
    text = text.replace("Benjamin Beck,", "\u674e\u4f1f,b@x.org,")
    class_ = [scored(7.0, dataclasses.replace(roster[0].who), "ben")]
    merged = moodle(text, class_, Options(column="Grade", roster=roster))
    assert "\u674e\u4f1f,b@x.org,7," in merged.text


def test_team_page_reaches_a_member_in_a_class_of_teams(numbered):
    """Only somebody who is on no list hands in alone, under the member's name."""
    work = scored(7.0, Who("Moodle", "55", "Team 1"), "Team 1_55")
    stranger = Who("Moodle", "18", "Ben Beck")
    people = [(work.student, work.who), ("Ben Beck_18", stranger)]
    options = Options(groups={"Team 1": ["ben"]}, roster=numbered, people=people)
    assert [name for name, _ in moodle_feedback([work], options)] == [
        "Ben Beck_13_assignsubmission_file/feedback.html"
    ]


# A name leads to no row of somebody else, and to none where several people on the list have it.


def roster_of(tmp_path, text):
    (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
    return read_roster(tmp_path / "roster.csv")


def into_sheet(people, rows, points):
    """Where the points of people and folders go; rows: (number, name, address) on Moodle."""
    text = "Identifier,Full name,Email address,Status,Grade,Maximum grade,Grade can be changed\n"
    text += "".join(f"Participant {n},{name},{mail},Sent,,10,Yes\n" for n, name, mail in rows)
    listed = {one.id: one.who for one in people}
    class_ = [scored(most, listed.get(id, Who()), id) for id, most in points.items()]
    merged = moodle(text, class_, Options(roster=people))
    cells = (line.split(",") for line in merged.text.splitlines()[1:])
    return {cell[0].split()[1]: float(cell[4]) for cell in cells if cell[4]}, merged


def test_name_leads_nowhere_if_the_number_on_the_list_has_left_the_course(tmp_path):
    people = roster_of(
        tmp_path,
        "student_id,name,number\nann,Ann Abel,11\nben,Ben Beck,12\ncy,Cy Cole,13\nmal,Mal Moe,\n",
    )
    rows = [("11", "Ann Abel", ""), ("13", "Cy Cole", ""), ("20", "Ben Beck", "")]
    found, merged = into_sheet(people, rows, {"ann": 9.0, "ben": 8.0, "cy": 7.0})
    assert found == {"11": 9.0, "13": 7.0}
    assert merged.unmatched == ("ben",)


@pytest.mark.parametrize("other", ["Kim Lee", "Lee Kim"])
def test_name_of_two_people_on_the_list_leads_to_no_row(tmp_path, other):
    people = roster_of(
        tmp_path, f"student_id,name,email\nk1,Kim Lee,k1@x.org\nk2,{other},k2@x.org\n"
    )
    rows = [("13", "Kim Lee", "k2@x.org"), ("14", "Cy Cole", "")]
    found, merged = into_sheet(people, rows, {"k1": 8.0})
    assert (found, merged.unmatched) == ({}, ("k1",))
    assert into_sheet(people, rows, {"k1": 8.0, "k2": 7.0})[0] == {"13": 7.0}
    both = [("12", "Kim Lee", ""), ("15", "Kim Lee", "")]
    assert into_sheet(people, both, {"k1": 8.0})[1].ambiguous == ("k1",)


def test_name_leads_to_no_row_with_the_address_or_id_of_somebody_else_on_the_list(tmp_path):
    people = roster_of(
        tmp_path, "student_id,name,email\nben,Ben Beck,b@x.org\nmal,Mal Moe,m@x.org\n20,Eva Kim,\n"
    )
    assert into_sheet(people, [("11", "Ben Beck", "m@x.org")], {"ben": 8.0})[0] == {}
    assert into_sheet(people, [("20", "Ben Eva Beck", "")], {"ben": 8.0, "20": 7.0})[0] == {"20": 7}
    assert into_sheet(people, [("11", "Ben Beck", "b@x.org")], {"ben": 8.0})[0] == {"11": 8.0}


def test_id_that_is_a_number_of_another_name_leads_nowhere(tmp_path):
    people = roster_of(tmp_path, "student_id,name\n20,Li Wei\n21,Cy Cole\n")
    rows = [("20", "Eva Kim", ""), ("21", "Cole Cy", "")]
    found, merged = into_sheet(people, rows, {"20": 8.0, "21": 7.0})
    assert (found, merged.unmatched) == ({"21": 7.0}, ("20",))


def test_chosen_name_of_two_people_does_not_outvote_the_numbers(tmp_path):
    people = roster_of(
        tmp_path, "student_id,name,number\nk1,Kim Lee,12\nk2,Kim Lee,13\ncy,Cy Cole,14\n"
    )
    rows = [("12", "Lee Kim", ""), ("13", "Lee Kim", ""), ("14", "Kim Lee", "")]
    found, merged = into_sheet(people, rows, {"k1": 9.0, "k2": 8.0, "cy": 7.0})
    assert (found, merged.unmatched) == ({"12": 9.0, "13": 8.0}, ("cy",))


def test_numbers_of_another_kind_are_told(tmp_path):
    people = roster_of(
        tmp_path, "student_id,name,number\nann,Ann Abel,1\nben,Ben Beck,2\ncy,Cy Cole,3\n"
    )
    rows = [("11", "Ann Abel", ""), ("1", "Ben Beck", ""), ("13", "Cy Cole", "")]
    found, merged = into_sheet(people, rows, {"ann": 9.0, "ben": 8.0, "cy": 7.0})
    assert found == {"11": 9.0, "1": 8.0, "13": 7.0}
    assert "The numbers on the class list are not those of Moodle." in merged.notes


@pytest.mark.parametrize("called", ["Mal Moe", "ben", "b@x.org", "Ben Beck"])
def test_id_or_address_taken_as_a_name_leads_to_no_row_of_somebody_else(tmp_path, called):
    people = roster_of(
        tmp_path, "student_id,name,email\nben,Ben Beck,b@x.org\nmal,Mal Moe,m@x.org\ncy,Cy Cole,\n"
    )
    rows = [("11", called, "m@x.org"), ("12", "Cy Cole", "")]
    found, merged = into_sheet(people, rows, {"ben": 9.0, "cy": 8.0})
    assert (found, merged.unmatched) == ({"12": 8.0}, ("ben",))
    found = into_sheet(people, rows, {"ben": 9.0, "mal": 7.0})[0]
    taken = called in ("ben", "b@x.org")  # that costs only the own row
    assert found == ({} if taken else {"11": 7.0})


@pytest.mark.parametrize(
    ("first", "chosen"),
    [("32", "Kim Lee"), ("", "Mal Moe")],  # without a number it may be k2's work
)
def test_name_of_two_people_is_no_way_to_the_row_that_is_left(tmp_path, first, chosen):
    people = roster_of(
        tmp_path,
        f"student_id,name,number\nk1,Kim Lee,{first}\nk2,Kim Lee,53\nmal,Mal Moe,\ndi,Di Dorn,60\n",
    )
    rows = [("32", "Kim Lee", ""), ("53", "Kim Lee", ""), ("60", "Di Dorn", ""), ("99", chosen, "")]
    found, merged = into_sheet(people, rows, {"Kim Lee": 9.0, "di": 6.0})
    assert (found, merged.unmatched) == ({"60": 6.0}, ("Kim Lee",))
    found = into_sheet(people, rows, {"k1": 8.0, "k2": 7.0})[0]
    assert found == ({"32": 8.0, "53": 7.0} if first else {"53": 7.0})


@pytest.mark.parametrize("listed", ["student_id,name,number\nmal,Mal Moe,16\n", ""])
def test_work_of_a_team_leads_to_no_row_of_a_student_who_is_called_like_it(tmp_path, listed):
    """Only teams have no number in a folder's name on Moodle."""
    people = roster_of(tmp_path, listed) if listed else []
    text = SHEET.replace("Ben Beck,", "Team 2,")
    work = scored(7.0, Who("Moodle", "", "Team 2"), "Team 2")
    merged = moodle(text, [work], Options(roster=people))
    assert (merged.text, merged.unmatched) == (text, ("Team 2",))


def test_names_with_the_same_words_are_two_if_the_file_writes_names_as_the_list(tmp_path):
    people = roster_of(
        tmp_path,
        "student_id,name\na,Thomas Martin\nb,Martin Thomas\n"
        "c,Candidate 17\nd,Candidate 18\ne,Di Dorn\n",
    )
    rows = [(str(n), one.who.name, "") for n, one in enumerate(people, 31)]
    points = {one.id: float(n) for n, one in enumerate(people, 1)}
    assert into_sheet(people, rows, points)[0] == {str(n): n - 30.0 for n in range(31, 36)}
    turned = [(n, " ".join(reversed(name.split())), "") for n, name, _ in rows]
    found = into_sheet(people, turned, points)[0]
    assert found.keys().isdisjoint(["31", "32"])  # or each would get the other's


def test_id_of_a_namesake_taken_as_a_name_does_not_free_the_shared_name(tmp_path):
    people = roster_of(tmp_path, "student_id,name\nk1,Kim Lee\nk2,Kim Lee\nmal,Mal Moe\n")
    rows = [("13", "Kim Lee", ""), ("14", "k2", "")]
    assert into_sheet(people, rows, {"k1": 8.0})[0] == {}


def test_id_leads_to_its_row_beside_a_namesake_under_whatever_name(tmp_path):
    people = roster_of(tmp_path, "student_id,name\na@x.org,Kim Lee\nk2,Kim Lee\n")
    rows = [("12", "Kimmy", "a@x.org"), ("13", "Kim Lee", "")]
    assert into_sheet(people, rows, {"a@x.org": 8.0})[0] == {"12": 8.0}


def test_one_name_in_the_order_of_the_list_does_not_swap_two_others(tmp_path):
    people = roster_of(tmp_path, "student_id,name\ns1,Li Wei\ns2,Wei Li\ns3,Ben Beck\ns4,Cy Cole\n")
    rows = [
        ("11", "Wei Li", ""),
        ("12", "Li Wei", ""),
        ("13", "Ben Beck", ""),
        ("14", "Cole Cy", ""),
    ]
    points = {"s1": 9.0, "s2": 8.0, "s3": 7.0, "s4": 6.0}
    assert into_sheet(people, rows, points)[0] == {"13": 7.0}


@pytest.mark.parametrize(
    ("listed", "rows", "found"),
    [
        ("4100,Ann Abel,a@x.org\n", [("4100", "李伟", "a@x.org")], {"4100": 9.0}),
        (
            "12,Anna Smith,a@x.org\n57,Max Smith,m@x.org\n",
            [("57", "Anna Smith", "a@x.org"), ("88", "Max Smith", "m@x.org")],
            {"57": 9.0, "88": 8.0},
        ),
        (
            "2,Uma Miller,\n3,Bo Beck,\n",
            [("16", "Uma Miller", "2"), ("2", "Bo Beck", "3")],
            {"16": 9.0, "2": 8.0},
        ),
    ],
)
def test_id_that_is_anothers_number_takes_no_row_from_its_owner(tmp_path, listed, rows, found):
    people = roster_of(tmp_path, f"student_id,name,email\n{listed}")
    points = {one.id: 9.0 - n for n, one in enumerate(people)}
    assert into_sheet(people, rows, points)[0] == found


def test_number_leads_to_its_row_in_blind_marking_under_the_name_on_the_list(tmp_path):
    """The class list has completed the name; a team's number may be anybody's."""
    people = roster_of(tmp_path, "student_id,name,number\nanna,Anna Abel,Participant 4711\n")
    text = "Identifier,Status,Grade\nParticipant 4711,,\nParticipant 4712,,\n"
    class_ = [
        scored(9.0, Who("Moodle", "4711", "Anna Abel"), "Participant_4711"),
        scored(8.0, Who("Moodle", "4712", "Team 1"), "Team 1_4712"),
    ]
    merged = moodle(text, class_, Options(roster=people))
    assert merged.text == text.replace("4711,,", "4711,,9")
    assert merged.unmatched == ("Team 1_4712",)
    class_ = [scored(9.0, Who("", "4711", "Anna Abel"), "anna")]  # in a folder without a number
    assert moodle(text, class_, Options(roster=people)).unmatched == ("anna",)
