"""The name server, which gives clients and brokers the routes of topics."""
