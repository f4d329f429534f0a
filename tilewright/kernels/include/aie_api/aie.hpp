// The entry of our own headers for kernels written for AMD's AIE API: docs/aie_api.md lists what they cover.
#pragma once

#include "tilewright/marks.hpp"

#include "tilewright/arithmetic.hpp"
#include "tilewright/mask.hpp"
#include "tilewright/memory.hpp"
#include "tilewright/modes.hpp"
#include "tilewright/multiply.hpp"
#include "tilewright/reshape.hpp"
#include "tilewright/vectors.hpp"

// After all of `aie::`, which it builds on.
#include "tilewright/intrinsics.hpp"
