"""Command line programs: a broker process, a look into store directories, accounts, reference pages."""
