// xrt::system: how many devices there are.
#ifndef TILEWRIGHT_XRT_SYSTEM_H
#define TILEWRIGHT_XRT_SYSTEM_H

namespace xrt::system {
inline unsigned int enumerate_devices() { return 1; }
} // namespace xrt::system

#endif
