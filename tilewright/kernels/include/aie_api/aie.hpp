// The entry of our own headers for kernels written for AMD's AIE API: docs/aie_api.md lists what they cover.
#pragma once

#include <assert.h>
#include <math.h>

#include "tilewright/marks.hpp"

#include "tilewright/arithmetic.hpp"
#include "tilewright/complex.hpp"
#include "tilewright/functions.hpp"
#include "tilewright/lookup.hpp"
#include "tilewright/mask.hpp"
#include "tilewright/memory.hpp"
#include "tilewright/modes.hpp"
#include "tilewright/multiply.hpp"
#include "tilewright/operators.hpp"
#include "tilewright/reshape.hpp"
#include "tilewright/sliding.hpp"
#include "tilewright/tensor_stream.hpp"
#include "tilewright/vectors.hpp"
#include "tilewright/intrinsics.hpp"
