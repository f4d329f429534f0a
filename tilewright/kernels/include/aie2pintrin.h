// The header of XDNA 2's intrinsics; here they come with the rest.
#pragma once

#include "aie_api/aie.hpp"
