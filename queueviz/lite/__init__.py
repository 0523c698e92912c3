"""The site of one sandbox in the reader's browser: the server's templates without database, sessions and accounts."""
