#pragma once
#include "xrt/experimental/xrt_elf.h"
