"""Options of training by their names, put in the groups in which the functions take them."""

from dataclasses import fields

from streamfs import Pricing, SearchSettings

GROUPS = {"pricing": Pricing, "search": SearchSettings}


def grouped(**options):
    """Put options of `Pricing` and of `SearchSettings` in these."""
    for name, group in GROUPS.items():
        own = {field.name: options.pop(field.name) for field in fields(group) if field.name in options}
        if own:
            options[name] = group(**own)
    return options
