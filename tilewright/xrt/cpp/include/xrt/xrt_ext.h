#pragma once
#include "xrt/experimental/xrt_ext.h"
