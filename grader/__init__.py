"""Judge NumPy code for masked self-attention, without running it in this process."""

__version__ = "0.1.0"
