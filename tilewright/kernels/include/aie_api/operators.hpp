// A name that kernel sources include; all is in aie.hpp.
#pragma once

#include "aie_api/aie.hpp"
