"""Provide the parts of a check: laws, comparison, suites of inputs, the student proxy."""
