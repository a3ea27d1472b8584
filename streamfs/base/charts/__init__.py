"""Charts as SVG that follows the theme of its page, each with a table of its numbers."""
