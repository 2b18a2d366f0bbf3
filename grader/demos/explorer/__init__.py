"""Show the explorer: a page on what the learner's functions do with the learner's words."""
