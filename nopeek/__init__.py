"""nopeek's name for what others use in their own tests: see `nopeek.testing`."""
