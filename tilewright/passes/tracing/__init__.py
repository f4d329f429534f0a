"""What the passes that lower traces share: units and their events, packet ids, the way to the host, register writes."""
