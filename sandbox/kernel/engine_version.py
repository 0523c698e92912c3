"""The release of the engine: another one may run the same actions otherwise."""

ENGINE = "0.1.0"  # as `queueviz.__version__`
