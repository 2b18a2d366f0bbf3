"""What no student gets: the torch reference and the known mistakes."""
