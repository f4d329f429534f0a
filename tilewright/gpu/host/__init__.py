"""The host's side of a program: its functions as native code, the runtime that they call, the ranks that run them."""
