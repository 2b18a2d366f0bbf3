"""What can be said of wrong results that fit no known mistake: what is true of all of them."""
