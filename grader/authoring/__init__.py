"""What only maintainers run: building, proving, and making bundles."""
