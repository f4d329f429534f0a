"""The fast model: the machine of `sim`, with its streams, channels, locks and cores as native code.

What comes in and goes out is the same as for the plain model, cycle for cycle: each part has the same turns in the same
order. Python keeps the registers, the controller, kernels and everything that is rare.
"""
