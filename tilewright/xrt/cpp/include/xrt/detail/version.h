// The version whose interface this follows.
#pragma once
#define XRT_MAJOR_VERSION 2
#define XRT_MINOR_VERSION 20
#define XRT_MAJOR(major) ((major) == 2)
static const char xrt_build_version[] = "2.20.0";
