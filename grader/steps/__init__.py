"""Describe the steps: their registry and data, random inputs for them, and their stubs."""
