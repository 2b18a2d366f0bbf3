"""What the judge found, as frozen records, and every renderer of them."""
