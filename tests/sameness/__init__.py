"""Show every difference between the verdicts of two commits, on all corpora."""
