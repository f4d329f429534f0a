#pragma once
#include "xrt/xrt_bo.h"
