"""Run a student's code and return values; judge nothing.

The worker is a separate program that needs only the standard library and NumPy. The judge starts it
as `python -s -S -B worker/__main__.py MODE FD PACKAGES CALL_MEMORY_MIB STEP_SECONDS [WALLS]`.

| module | what it does |
|---|---|
| `codec` | values as bytes, and back; the judge uses it, too |
| `wire` | what a worker reads and writes of that, with its limits |
| `imports` | what a student's code finds when it imports something, Python's own in memory |
| `tracking` | arrays that note the products made with them |
| `session` | one worker's life: load a module, then answer calls into it |
| `notebook` | a notebook, run statement by statement |
| `cells` | a source as cells, and what they bind; the judge uses its marks, and parses nothing |
| `lockdown` | what a worker gives up before it loads code that nobody trusts, or else notes |
| `forking` | forking workers, and ending them with all that they started, such as a fork bomb |
"""
