// RUN: not tilewright opt --air-to-rocdl=chip=sm_90 %s 2>&1 | filecheck %s --check-prefix=CHIP
// RUN: not tilewright opt --air-to-rocdl=wave-size=48 %s 2>&1 | filecheck %s --check-prefix=WAVE

// CHIP: error: unknown chip 'sm_90'; known are gfx906, gfx908, gfx90a, gfx942
// WAVE: error: wave-size must be a power of two, or 0 for that of gfx942; got 48
func.func @nothing() {
  return
}
