"""Command line programs: broker process, store reader, accounts file, reference pages."""
