"""A lowered runtime sequence goes in; TXN words come out, or a native or C++ function that makes them."""
