"""A host program on the AIR runtime -> the runtime sequences of its devices: the parts of `airrt-to-npu`.

`placement` finds the device of each function, `cleanup` leaves what the host does, `waits`, `limits`, `transfers` and
`loads` turn that into tasks, and `pacing` and `ordering` see to it that no queue overflows and no core waits forever.
"""
