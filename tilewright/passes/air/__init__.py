"""AIR programs on GPUs: what the passes that lower them share."""
