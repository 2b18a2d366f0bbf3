"""Self-study in Jupyter: the notebooks, the judge behind `check()`, and things to look at."""
