"""Reports in a terminal."""
