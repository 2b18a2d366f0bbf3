"""Show the explorer: a page on what the learner's decoder does with the learner's words."""
