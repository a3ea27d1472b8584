"""Early classification: methods compared on sets of labelled series, as recorded and disturbed."""
