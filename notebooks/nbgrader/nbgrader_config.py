"""Configure an nbgrader course that nopeek grades. Run `make nbgrader` once, in the kit's folder.

Run nbgrader's commands in this folder:

    nbgrader generate_assignment step02_scores
    nbgrader release_assignment step02_scores
    nbgrader collect step02_scores
    nbgrader autograde step02_scores
    nbgrader generate_feedback step02_scores
    nbgrader export

No notebook is run. Keep all settings below: a submission that nbgrader's own executor runs can
give itself full marks.
"""

from pathlib import Path

c = get_config()  # noqa: F821  # given by nbgrader

c.CourseDirectory.course_id = "nopeek"
c.CourseDirectory.root = str(Path(__file__).resolve().parent)

# The sandbox: auto is bubblewrap. Without namespaces, choose process+ (docs/sandbox.md).
c.Nopeek.isolation = "auto"
# The round. The next number gives new hidden inputs, where students hand in again after feedback.
c.Nopeek.seed = 1

# Follow no link that a student puts into the exchange.
c.ExchangeFactory.collect = "grader.notebooks.nbgrader.collecting.Collect"
c.Autograde.exporter_class = "grader.notebooks.nbgrader.autograding.Nopeek"
# The exporter has written the notebook anew already, so nothing is left to overwrite.
c.Autograde.sanitize_preprocessors = ["nbgrader.preprocessors.CheckCellMetadata"]
c.Autograde.autograde_preprocessors = [
    "grader.notebooks.nbgrader.autograding.Verdicts",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
# Apply the late rules of the assignment file; without a file, deduct nothing.
c.AssignLatePenalties.plugin_class = "grader.notebooks.nbgrader.lateness.CourseLateness"
c.CourseLateness.folder = str(Path(__file__).resolve().parent / "assignments")
c.ClearSolutions.code_stub = {"python": "# Write your code here.\nraise NotImplementedError()"}
# Validation runs the visible checks, which have limits of their own.
c.Execute.timeout = 600
