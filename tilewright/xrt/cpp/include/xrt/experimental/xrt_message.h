// xrt::message: messages on stderr.
#ifndef TILEWRIGHT_XRT_MESSAGE_H
#define TILEWRIGHT_XRT_MESSAGE_H

#include <iostream>
#include <string>

namespace xrt::message {
enum class level : unsigned short { emergency, alert, critical, error, warning, notice, info, debug };
inline void log(level, const std::string &tag, const std::string &text) {
  std::cerr << "[" << tag << "] " << text << std::endl;
}
} // namespace xrt::message

#endif
