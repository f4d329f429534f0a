#pragma once
#include "xrt/experimental/xrt_xclbin.h"
