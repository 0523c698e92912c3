"""Release of the engine; another release may execute the same actions differently."""

ENGINE = "0.4.0"  # as `queueviz.__version__`
