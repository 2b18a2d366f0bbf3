"""Commands that run published models on the learner's decoder."""
