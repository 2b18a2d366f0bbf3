"""The judge's findings as frozen records, and every renderer of them."""
