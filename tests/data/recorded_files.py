"""Texts of recordings."""

NAN = float("nan")
WIDE = "stream,time,label,x\na,0,calm,1\na,1,calm,2\nb,0,busy,3\nb,1,busy,4\n"


def run(*times, header="time,x", first=0):
    return "\n".join([header, *(f"{time},{first + index}" for index, time in enumerate(times))]) + "\n"
