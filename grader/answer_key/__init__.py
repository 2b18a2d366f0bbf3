"""Hold the torch reference and the known mistakes, which no student gets."""
