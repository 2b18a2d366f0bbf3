"""Measure and draw a student's functions; nothing here judges."""
