"""Render reports as HTML pages and cards."""
