"""Prove that a model of anybody's is causal, in one line of their own tests: `nopeek.testing`."""
