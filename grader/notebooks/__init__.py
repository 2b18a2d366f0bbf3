"""Self-study in Jupyter: the kernel's side, the judge behind it, and pictures."""
