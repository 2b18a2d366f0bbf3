"""Run a student's code and return values; judge nothing.

The worker is a separate program that needs only the standard library and NumPy. The judge starts it
as `python -s -S -B worker/__main__.py MODE FD PACKAGES CALL_MEMORY_MIB STEP_SECONDS [WALLS]`.

| module | what it does |
|---|---|
| `wire` | values as bytes, in the judge's format |
| `imports` | what a student's code finds when it imports something |
| `library` | the standard library and NumPy in memory, for workers that may touch no file |
| `counting` | arrays that count the products made with them |
| `rows` | arrays that know how many of their rows meet in one product |
| `session` | one worker's life: load a module, then answer calls into it |
| `audit` | what code does that is refused where a class is graded |
| `notebook` | a notebook, run statement by statement |
| `cells` | a source as cells, parsed; no judge imports it |
| `survey` | a program that says what sources bind, and runs nothing |
| `lockdown` | what a worker gives up before it loads code that nobody trusts |
| `processes` | forking workers, and ending them with all that they started |
"""
