"""Settings and habits of Spark: where it runs, its Java, its workers, small runs, the text of its errors."""
