"""The dialects as Python programs build them, by upstream's names."""
