"""Handling of Spark: its address, its Java, its workers, small runs, the text of its errors."""
