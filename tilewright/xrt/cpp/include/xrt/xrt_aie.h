#pragma once
#include "xrt/experimental/xrt_aie.h"
