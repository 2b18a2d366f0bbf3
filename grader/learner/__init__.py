"""Accompany a learner: their record, questions, and hints. No verdict depends on it."""
