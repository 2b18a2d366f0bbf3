"""Train a submission's decoder on a small text; nothing is judged here."""
