"""Hold the judge's findings as frozen records, and render them."""
