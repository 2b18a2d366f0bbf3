"""Reports as HTML pages and cards."""
