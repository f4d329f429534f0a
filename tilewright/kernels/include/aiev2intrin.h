// The header of AIE-ML's intrinsics; here they come with the rest.
#pragma once

#include "aie_api/aie.hpp"
