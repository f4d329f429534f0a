"""Passes that make control code: transactions, control packets, instructions of the microcontrollers."""
