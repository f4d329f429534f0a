"""Object FIFOs to the buffers, locks, DMA programs and routes that make them work.

The steps follow each other: the device is read (`design`), FIFOs that need a DMA are cut in two and each end gets a
depth (`sharing`, `ends`), ends that meet in a tile share storage (`links`), storage becomes buffers and
locks (`storage`, `locks`), ends with a DMA get channels (`channels`), descriptors (`chains`, `dma_programs`) and routes
(`routes`), and what cores do with FIFOs becomes uses of locks and choices between buffers (`core_accesses`,
`threading`).
"""
