"""A course on nbgrader that is graded by nopeek. Needs `make nbgrader`, once, in the kit's folder.

nbgrader's commands are given in this folder:

    nbgrader generate_assignment step02_scores
    nbgrader release_assignment step02_scores
    nbgrader collect step02_scores
    nbgrader autograde step02_scores
    nbgrader generate_feedback step02_scores
    nbgrader export

No notebook is run. Remove none of the lines below the first: nbgrader's own executor can be talked
into full marks by what it runs.
"""

from pathlib import Path

c = get_config()  # noqa: F821  # given by nbgrader

c.CourseDirectory.course_id = "nopeek"
c.CourseDirectory.root = str(Path(__file__).resolve().parent)

# What submissions run in: bubblewrap where it holds (auto), or process+ (see the README).
c.Nopeek.isolation = "auto"
# The hidden inputs. Drawn once for the course, and kept in .nopeek-seed, if it is not given here.
# c.Nopeek.seed = 7

# Follows no link that a student puts into the exchange.
c.ExchangeFactory.collect = "grader.notebooks.nbgrader.collecting.Collect"
c.Autograde.exporter_class = "grader.notebooks.nbgrader.autograding.Nopeek"
# What the exporter hands on is written anew already, so nothing is left to overwrite.
c.Autograde.sanitize_preprocessors = ["nbgrader.preprocessors.CheckCellMetadata"]
c.Autograde.autograde_preprocessors = [
    "grader.notebooks.nbgrader.autograding.Verdicts",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
# Lateness and extensions of an assignment with a file; without one, nothing is taken off.
c.AssignLatePenalties.plugin_class = "grader.notebooks.nbgrader.lateness.CourseLateness"
c.CourseLateness.folder = str(Path(__file__).resolve().parent / "assignments")
c.ClearSolutions.code_stub = {"python": "# Write your code here.\nraise NotImplementedError()"}
# Validating runs the visible checks, which have limits of their own.
c.Execute.timeout = 600
