from tests.sameness.differences import Differences
from tests.sameness.programs import Program


def program(name="one", **files):
    return Program("wrong", name, ("step02_scores",), {n: t.encode() for n, t in files.items()})


def record(status="failed", points=1.0, cause="no_scale", says="A sentence.", message=""):
    check = [status, points, cause, says, "", ""]
    step = {"status": status, "own": True, "message": message, "checks": {"scores_agree": check}}
    return {"points": points, "steps": {"step02_scores": step}}


def lines(*pairs, most=5):
    found = Differences()
    for number, (before, after) in enumerate(pairs):
        found.compare(program(f"p{number}"), "visible", before, after)
    return "\n".join(found.lines(most))


def test_differences_are_grouped_by_place_and_change_and_counted():
    assert lines((record(), record())).count("0 programs differ") == 4
    pair = record(), record(status="passed", points=2.0)
    found = lines(pair, pair, (record(), record(cause="mask")), (None, record()))
    assert "verdicts: 3 programs differ, in 3 groups" in found
    assert "   2  visible scores_agree: failed => passed (and 1 places more)   e.g." in found
    assert "   2  visible : 1.0 => 2.0   e.g. wrong p0" in found
    assert "   1  visible scores_agree: no_scale => mask   e.g. wrong p2" in found
    assert "visible scores_agree: None => failed (and 1 places more)" in found


def test_sentences_are_grouped_by_place_with_one_example():
    pairs = [(record(says=f"Old {n}."), record(says=f"New {n}.")) for n in range(3)]
    found = lines(*pairs)
    assert "   3  visible scores_agree   e.g. wrong p0\n        - Old 0.\n        + New 0." in found


def test_groups_beyond_the_most_are_counted():
    pairs = [(record(), record(cause=f"c{n}")) for n in range(4)]
    assert "and 2 groups more; MOST=4 lists them" in lines(*pairs, most=2)


def test_digest_depends_on_files_and_name():
    texts = program(a="x"), program(a="y"), program(b="x"), program("two", a="x")
    assert len({one.digest for one in texts}) == 4
    assert program(a="x").digest == program(a="x").digest
