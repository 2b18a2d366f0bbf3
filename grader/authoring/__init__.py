"""Commands for maintainers only: building, proving, and making bundles."""
