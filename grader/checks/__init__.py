"""What a check is made of: laws, comparison, suites of inputs, the student proxy."""
