#pragma once
#include "xrt/xrt_device.h"
