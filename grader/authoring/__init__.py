"""Provide commands that only maintainers need: building, proving, and making bundles."""
