"""What a seed rules: loop, network, disk, faults."""
