"""Turn one submission into one report."""
