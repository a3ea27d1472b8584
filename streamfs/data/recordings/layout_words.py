"""Words that layouts of recordings share: usual names of columns, and what else a field may say."""

STREAM, TIME, LABEL = "stream", "time", "label"
"""The columns that are not readings, unless a layout says otherwise."""

ROWS = "rows"
"""In place of a column of times: the rows of a stream follow each other."""

FOLDER = "folder"
"""The labels are the names of the files' folders."""

NAME = "name"
"""The labels are what the names of the files begin with, before a number or a point."""

RUNS = "runs"
"""Each run of rows with one label in its column is a stream."""

PLACES = FOLDER, NAME, RUNS
"""Where labels may be besides in a column and in a file."""

DATE_PARTS = ("year", "month", "day", "hour", "minute", "second")
"""What columns of a time are, if they are more than two."""

RULES = ("last", "mean")
"""How several readings at one tick become one."""

UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""Times that are numbers, by how many of them make a second."""
