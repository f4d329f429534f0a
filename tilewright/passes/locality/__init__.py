"""Whether the points of a launch, segment or herd keep out of each other's memory."""
