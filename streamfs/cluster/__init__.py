"""The same engine and core on Apache Spark: streams divided into shards, whose state it keeps."""
