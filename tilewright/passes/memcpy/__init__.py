"""Token-gated copies in runtime sequences become locks, streams and pairs of DMA tasks.

`copies` reads what a program wants, `sites` puts tokens on tiles, `streams` finds channels, `schedule` places the
waits, `tasks` and `cores` write it down, and `rehearsal` plays it through before it is believed.
"""
