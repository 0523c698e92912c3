"""Messages: their types, records, properties and filters, in memory and on disk."""
