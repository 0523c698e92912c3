"""The audit of a store: queues and index are derived from the log again and compared, column by column.

`plan` divides the files into pieces of work, `Piece.run` executes one, `verdict` combines their results.  Nothing is
changed.  `mqstore verify` runs all pieces in one process, the job `store_audit` distributes them.
"""
