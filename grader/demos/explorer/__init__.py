"""The explorer: a page on what one's own decoder does with one's own words."""
