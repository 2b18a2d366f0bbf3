"""Commands that need the whole kit, which a student's bundle does not hold."""
