"""Hand-ins as students arrange them: right code under many names, in folders, zips, notebooks.

`HANDINS` maps a name to the ids of the steps in it, and the files of its folder. All of it is
right code, except what begins with `wrong_`. What the grader makes of each is compared between
commits; what it must make of them is said in the tests of reading hand-ins.
"""

import io
import json
import zipfile

ONE = """import numpy as np

def linear(x, weight, bias=None):
    y = x @ weight
    return y if bias is None else y + bias

def project_qkv(x, w_q, w_k, w_v):
    return linear(x, w_q), linear(x, w_k), linear(x, w_v)
"""
TWO = """import numpy as np

def attention_scores(q, k):
    return q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5
"""
TWO_WITH = """{}
def attention_scores(q, k):
    return q @ turned(k) / q.shape[-1] ** 0.5
"""
TURNED = """import numpy as np

def turned(k):
    return np.swapaxes(k, -1, -2)
"""
UNSCALED = TWO.replace(" / q.shape[-1] ** 0.5", "")
STUB = """def attention_scores(q, k):
    raise NotImplementedError()
"""
FOUR = """import numpy as np

def softmax(scores, axis=-1):
    scores = np.asarray(scores)
    top = np.max(scores, axis=axis, keepdims=True)
    e = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    total = e.sum(axis=axis, keepdims=True)
    return e / np.where(total == 0, 1.0, total)
"""
BODY = FOUR.split("\n", 2)[2]
P1, P2, P4 = "step01_projections", "step02_scores", "step04_softmax"


def zipped(files):
    """A zip with these files, always the same to the byte."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data)
    return out.getvalue()


def notebook(*cells, ids=None):
    """A notebook with these code cells; ids: the nbgrader `grade_id` of a cell, by its number."""
    made = [
        {
            "cell_type": "code",
            "id": f"c{number}",
            "execution_count": None,
            "outputs": [],
            "metadata": {"nbgrader": _solution_cell(ids[number])} if number in (ids or {}) else {},
            "source": code,
        }
        for number, code in enumerate(cells)
    ]
    book = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1).encode()


def _solution_cell(name):
    kinds = {"grade": False, "solution": True, "locked": False, "task": False}
    return {"schema_version": 3, "grade_id": name, "cell_type": "code", **kinds}


NAMES = {  # of a right step 2 beside a right step 1
    "exact": "step02_scores.py",
    "upper_case": "Step02_Scores.py",
    "one_digit": "step2_scores.py",
    "browser_copy": "step02_scores (1).py",
    "canvas_copy": "step02_scores-1.py",
    "final": "step02_scores_final.py",
    "final_dash": "step02_scores-final.py",
    "version": "step02_scores_v2.py",
    "mac_copy": "step02_scores copy.py",
    "windows_copy": "step02_scores - Kopie.py",
    "prefixed": "ada_step02_scores.py",
    "text_file": "step02_scores.py.txt",
    "own_name": "scores.py",
    "deep": "work/week 1/attention/step02_scores.py",
    "too_deep": "a/b/c/d/e/f/step02_scores.py",
}
FILES = {
    "two_alike": ([P2], {"step02_scores.py": TWO, "copy/step02_scores.py": TWO}),
    "two_differ": ([P2], {"a/step02_scores.py": TWO, "b/step02_scores.py": UNSCALED}),
    "stub_beside": ([P2], {"a/step02_scores.py": STUB, "b/step02_scores.py": TWO}),
    "stub_only": ([P2], {"step02_scores.py": STUB}),
    "in_a_zip": ([P1, P2], {"work.zip": zipped({f"{P1}.py": ONE, f"{P2}.py": TWO})}),
    "zip_in_zip": ([P2], {"work.zip": zipped({"in.zip": zipped({f"{P2}.py": TWO})})}),
    "macosx": ([P2], {"work.zip": zipped({f"{P2}.py": TWO, f"__MACOSX/._{P2}.py": "x"})}),
    "helpers": (
        [P2],
        {
            f"{P2}.py": TWO_WITH.format("from exercises.helpers import turned\n"),
            "helpers.py": TURNED,
        },
    ),
    "plain_helpers": (
        [P2],
        {f"{P2}.py": TWO_WITH.format("from helpers import turned\n"), "helpers.py": TURNED},
    ),
    "utils_from_utils": (
        [P2],
        {f"{P2}.py": TWO_WITH.format("from utils import turned\n"), "utils.py": TURNED},
    ),
    "library_name": (
        [P2],
        {f"{P2}.py": TWO_WITH.format("from exercises.types import turned\n"), "types.py": TURNED},
    ),
    "missing_helper": ([P2], {f"{P2}.py": TWO_WITH.format("from helpers import turned\n")}),
    "wrong_unscaled": ([P1, P2], {f"{P1}.py": ONE, f"{P2}.py": UNSCALED}),
    "wrong_not_python": ([P1, P2], {f"{P1}.py": ONE, f"{P2}.py": TWO.replace("):", ")")}),
    "wrong_not_text": ([P2], {f"{P2}.py": b"\x00\xff\xfe\x00"}),
    "empty": ([P2], {"readme.txt": "nothing yet"}),
}
LOOP = (
    "table = np.zeros(4)\nfor i in range(4):\n    table[i] = i + 1\ntiny = float(table[0]) * 0.0\n"
)
BOOKS = {
    "plain": [FOUR],
    "comprehension": ["import numpy as np", "ones = [1.0 for _ in range(3)]\ntiny = 0.0", BODY],
    "loop_at_margin": ["import numpy as np", LOOP, BODY.replace("0.0)", "tiny)")],
    "set_by_init": [
        "import numpy as np",
        "def init():\n    global tiny\n    tiny = 0.0\n\ninit()",
        BODY.replace("0.0)", "tiny)"),
    ],
    "magics": ["%matplotlib inline\nimport numpy as np", "!pip install numpy", "%%time\n" + BODY],
    "under_if": ["import numpy as np", "if True:\n" + "    " + BODY.replace("\n", "\n    ")],
    "plot_is_missing": ["import matplotlib.pyplot as plt", FOUR, "plt.plot([1, 2])"],
    "trial_fails": [FOUR, "softmax(undefined)", "assert softmax([0.0]) == 2"],
    "written_twice": [FOUR.replace("e / ", "2 * e / "), FOUR],
    "stub_below": [FOUR, "def softmax(scores, axis=-1):\n    raise NotImplementedError()"],
    "broken_cell_last": [FOUR, "for x in"],
    "asks_for_input": ["name = input('name? ')", FOUR],
    "slow_trial": [FOUR, "n = 0\nwhile n < 10**6:\n    n += 1"],
    "wrong_axis": [FOUR.replace("e.sum(axis=axis", "e.sum(axis=0")],
    "wrong_stub": ["def softmax(scores, axis=-1):\n    raise NotImplementedError()"],
    "wrong_broken": [FOUR.replace("):", ")")],
}


def _encoded(files):
    return {
        name: text if isinstance(text, bytes) else text.encode() for name, text in files.items()
    }


HANDINS = {
    **{
        f"name_{name}": ((P1, P2), _encoded({f"{P1}.py": ONE, file: TWO}))
        for name, file in NAMES.items()
    },
    **{name: (tuple(steps), _encoded(files)) for name, (steps, files) in FILES.items()},
    **{f"book_{name}": ((P4,), {f"{P4}.ipynb": notebook(*cells)}) for name, cells in BOOKS.items()},
    "book_by_grade_id": (
        (P4,),
        {f"{P4}.ipynb": notebook(FOUR, FOUR.replace("e / ", "3 * e / "), ids={0: "softmax"})},
    ),
    "book_of_any_name": ((P4,), {"Untitled.ipynb": notebook(FOUR)}),
}
