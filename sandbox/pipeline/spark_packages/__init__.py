"""Packages that the wheels install at the top level, where Spark 4 finds data sources by the names of packages."""
