"""Grading a class: judges in processes of their own, a gradebook, pages and an overview."""
