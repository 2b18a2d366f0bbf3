"""Commands that only maintainers run; an installed package does not hold them."""
