#pragma once
#include "xrt/experimental/xrt_module.h"
