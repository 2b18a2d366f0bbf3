"""One submission in, one report out."""
