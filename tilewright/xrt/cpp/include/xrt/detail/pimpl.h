#pragma once
#include "xrt/detail/definitions.h"
