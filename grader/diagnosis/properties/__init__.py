"""Find patterns in wrong results that fit no known mistake."""
