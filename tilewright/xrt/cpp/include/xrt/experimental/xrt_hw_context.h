#pragma once
#include "xrt/xrt_hw_context.h"
