"""Sources that are hard to read: for the parser, the compiler, and whoever else parses them."""

from grader.isolation.worker.cells import NOTEBOOK
from tests.corpora.hostile import attack


@attack("attention_scores", "error", text=True)
def parentheses_without_end():
    """Is nothing but parentheses."""
    return "(" * 200_000


@attack("attention_scores", "error", text=True)
def signs_without_end():
    """Is a number with a hundred thousand signs."""
    return "x = " + "-" * 100_000 + "1\n"


@attack("attention_scores", "error", text=True)
def calls_without_end():
    """Calls what a call returned, for as long as the file may be."""
    return "x = f" + "()" * 100_000 + "\n"


@attack("attention_scores", "error", text=True)
def constants_that_explode():
    """Has the compiler compute what no memory holds."""
    return "x = 'a' * 10**12\ny = (((1,) * 10**4) * 10**4) * 10**4\n"


@attack("attention_scores", "error", text=True)
def numbers_that_explode():
    """Writes a number whose digits take quadratic time to read."""
    return "x = " + "9" * 900_000 + "\n"


@attack("attention_scores", ("error", "timeout"), text=True)
def lines_without_end():
    """Has as many lines as fit."""
    return "x=1\n" * 249_000


@attack("attention_scores", "error", text=True)
def blocks_without_end():
    """Goes in deeper than any block may."""
    return "".join(" " * depth + "if 1:\n" for depth in range(500))


@attack("attention_scores", "error", text=True)
def names_that_are_null():
    """Has a null byte in it."""
    return "def attention_scores(q, k):\n    return '\0'\n"


@attack("attention_scores", "error", text=True)
def half_a_character():
    """Has half of a character in it."""
    return "def attention_scores(q, k):\n    return 1 \ud800\n"


@attack("attention_scores", "error", text=True)
def no_source_at_all():
    """Hands in an empty file."""
    return ""


@attack("attention_scores", "error", text=True)
def ends_the_workers_text():
    """Closes quotes and brackets that a careless grader puts around it."""
    return '"""\n\'\'\'\n)]}\n### END SOLUTION\nEOF\n__import__("os")._exit(0)\n'


@attack("attention_scores", "error", text=True)
def a_name_without_end():
    """Uses one name that is nearly as long as a file may be, and whose normal form is longer."""
    return "\ufdfa" * 150_000 + " = 1\n" + "x" * 400_000 + "\n"


@attack("attention_scores", "error", text=True)
def spaces_without_end():
    """Has one line of spaces, for patterns that begin with them."""
    return " " * 900_000 + "\n"


@attack("attention_scores", "error", text=True)
def decorators_without_end():
    """Decorates a function that never comes."""
    return "@a\n" * 300_000


@attack("attention_scores", "error", text=True)
def imports_without_end():
    """Imports a name so often that it is looked for in vain as often."""
    return "import " + ", ".join(["sys"] * 150_000) + "\nraise ValueError\n"


@attack("attention_scores", "error", text=True)
def earlier_steps_without_end():
    """Speaks of every earlier step and of its own modules, as often as there is room."""
    return "# exercises.step01_projections step02_scores\n" * 20_000


@attack("attention_scores", "error", text=True)
def an_encoding_without_end():
    """Names an encoding that is as long as the file."""
    return "# coding: " + "utf-8-" * 150_000 + "\n"


@attack("attention_scores", "error", text=True)
def cells_without_end():
    """Is nothing but marks of a notebook's cells and of what is left open in them."""
    return NOTEBOOK + "\n" + "# %% work.ipynb, cell 1\n(\ndef attention_scores(\n" * 13_000


@attack("attention_scores", "error", text=True)
def statements_without_end():
    """Has more slow statements at a notebook's margin than anybody waits for."""
    cells = "".join(f"# %% work.ipynb, cell {n}\nwhile {n}: pass\n" for n in range(1, 99))
    return NOTEBOOK + "\n" + cells


@attack("attention_scores", "error", text=True)
def places_without_end():
    """Says where it is without being there: what a notebook's margin sends is cut."""
    flood = "f = sys._getframe()\nwhile f:\n    for one in [*f.f_locals.values()]:\n"
    flood += "        if hasattr(one, 'guide'):\n"
    flood += "            [one.guide.report('x') for _ in range(10**9)]\n"
    return f"{NOTEBOOK}\n# %% work.ipynb, cell 1\nimport sys\n{flood}    f = f.f_back\n"


@attack("attention_scores", "error", text=True)
def strings_without_end():
    """Formats strings in strings in strings."""
    return "x = " + "f'{" * 1000 + "1" + "}'" * 1000 + "\n"


@attack("attention_scores", "error", text=True)
def patterns_without_end():
    """Matches what takes for ever to match, in the compiler's hands: a pattern of classes."""
    return "match 1:\n" + "".join(f"    case C{n}(x={n}):\n        x\n" for n in range(20_000))


@attack("attention_scores", "error", text=True)
def imports_of_all_names_without_end():
    """Imports all names again and again, below a stub and many other names."""
    names = "".join(f"a{number} = 1\n" for number in range(45_000))
    return "def f():\n    raise NotImplementedError\n" + names + "import *\n" * 45_000
