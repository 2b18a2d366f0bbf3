"""Hand-ins as students arrange them: right code under many names, in folders and zips.

`HANDINS` maps a name to the ids of the steps in it, and the files of its folder. All of it is
right code, except what begins with `wrong_`. What the grader makes of each is compared between
commits; what it must make of them is said in the tests of reading hand-ins.
"""

import io
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
TWO_WITH = """
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
P1, P2 = "step01_projections", "step02_scores"


def zipped(files):
    """A zip with these files, always the same to the byte."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data)
    return out.getvalue()


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
HELPERS = {  # of step 2, by the name of the hand-in
    **{"helpers": "exercises.helpers", "plain_helpers": "helpers"},
    **{"utils_from_utils": "utils", "library_name": "exercises.types"},
}


def from_helper(module):
    return f"from {module} import turned\n{TWO_WITH}"


FILES = {
    "two_alike": ([P2], {"step02_scores.py": TWO, "copy/step02_scores.py": TWO}),
    "two_differ": ([P2], {"a/step02_scores.py": TWO, "b/step02_scores.py": UNSCALED}),
    "stub_beside": ([P2], {"a/step02_scores.py": STUB, "b/step02_scores.py": TWO}),
    "stub_only": ([P2], {"step02_scores.py": STUB}),
    "in_a_zip": ([P1, P2], {"work.zip": zipped({f"{P1}.py": ONE, f"{P2}.py": TWO})}),
    "zip_in_zip": ([P2], {"work.zip": zipped({"in.zip": zipped({f"{P2}.py": TWO})})}),
    "macosx": ([P2], {"work.zip": zipped({f"{P2}.py": TWO, f"__MACOSX/._{P2}.py": "x"})}),
    **{
        name: ([P2], {f"{P2}.py": from_helper(module), f"{module.split('.')[-1]}.py": TURNED})
        for name, module in HELPERS.items()
    },
    "missing_helper": ([P2], {f"{P2}.py": from_helper("helpers")}),
    "wrong_unscaled": ([P1, P2], {f"{P1}.py": ONE, f"{P2}.py": UNSCALED}),
    "wrong_not_python": ([P1, P2], {f"{P1}.py": ONE, f"{P2}.py": TWO.replace("):", ")")}),
    "wrong_not_text": ([P2], {f"{P2}.py": b"\x00\xff\xfe\x00"}),
    "empty": ([P2], {"readme.txt": "nothing yet"}),
}


def _encoded(files):
    pairs = files.items()
    return {name: text if isinstance(text, bytes) else text.encode() for name, text in pairs}


HANDINS = {
    **{
        f"name_{name}": ((P1, P2), _encoded({f"{P1}.py": ONE, file: TWO}))
        for name, file in NAMES.items()
    },
    **{name: (tuple(steps), _encoded(files)) for name, (steps, files) in FILES.items()},
}
