"""Host-side channel transfers in loops -> few transfers with wraps and strides: the parts of `air-opt-shim-dma-bds`.

`linear` reads offsets, `patterns` computes on wraps and strides, `wrapping` puts loops into them; `isolation` and
`herds` prepare loops for that, `tiling` and `chains` copy what is left, `draining` waits for it.
"""
