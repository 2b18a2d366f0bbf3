"""The judge of nopeek: grades NumPy code for masked self-attention without running it here."""

__version__ = "0.1.0"
