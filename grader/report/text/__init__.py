"""Show reports in a terminal."""
