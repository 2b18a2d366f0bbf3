"""Parse the command line, and run its commands."""
