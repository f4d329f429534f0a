"""Host programs that run a package with XRT, in C++ and in Python: a start for programs of one's own.

Both take the package and the instructions from the folder that they are in, buffers from files and into files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import Template

from xdsl.ir import Attribute

from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.ir.diagnostics import fail

FIRST_BUFFER = 3
"""The number of the first buffer among a kernel's arguments; before it are opcode, instructions and their number."""


@dataclass(frozen=True)
class KernelBuffer:
    """A buffer of the host that a sequence takes."""

    name: str
    size_bytes: int


def host_buffers_of(sequence: RuntimeSequenceOp) -> list[KernelBuffer]:
    """The buffers that a sequence takes, in order; an error for one of no known size."""
    return [
        KernelBuffer(name, _bytes(sequence, argument.type))
        for name, argument in zip(sequence.argument_names, sequence.body.block.args, strict=True)
    ]


def _bytes(sequence: RuntimeSequenceOp, type: Attribute) -> int:
    if (count := element_count(type)) is not None:
        return count * element_bytes(type)
    fail(
        sequence, "a host program needs to know the sizes of all buffers", (sequence, "give its arguments static types")
    )


CPP = Template("""\
// Runs $package with XRT.
//
//   XRT=/opt/xilinx/xrt
//   g++ -std=c++17 $source -I$$XRT/include -L$$XRT/lib -lxrt_coreutil -o $program
//   ./$program $usage
//
// Without a file, a buffer is zero; what is behind `>` is where a buffer is written to afterwards.

#include "xrt/xrt_bo.h"
#include "xrt/xrt_device.h"
#include "xrt/xrt_kernel.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Buffer {
  const char *name;
  size_t bytes;
};

const Buffer buffers[] = {
$buffers
};
const size_t count = sizeof(buffers) / sizeof(buffers[0]);
const unsigned transaction = 3; // the firmware's number for a stream of register writes

std::vector<char> contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error("cannot open " + path);
  return std::vector<char>(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

xrt::bo filled(const xrt::device &device, const std::vector<char> &data, xrt::bo::flags flags, int group) {
  xrt::bo buffer(device, data.size(), flags, static_cast<uint32_t>(group));
  std::memcpy(buffer.map<void *>(), data.data(), data.size());
  buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  return buffer;
}

void run(const std::string &folder, const std::map<std::string, std::string> &inputs,
         const std::map<std::string, std::string> &outputs) {
  const std::vector<char> words = contents(folder + $instructions);
  xrt::device device(0);
  xrt::xclbin container(folder + $package_text);
  device.register_xclbin(container);
  xrt::hw_context context(device, container.get_uuid());
  xrt::kernel kernel(context, $kernel);

  xrt::bo program = filled(device, words, xrt::bo::flags::cacheable, kernel.group_id(1));
  std::vector<xrt::bo> arguments;
  for (size_t index = 0; index < count; ++index) {
    std::vector<char> data;
    const auto found = inputs.find(buffers[index].name);
    if (found != inputs.end())
      data = contents(found->second);
    if (data.size() > buffers[index].bytes)
      throw std::runtime_error(found->second + " has more bytes than " + buffers[index].name);
    data.resize(buffers[index].bytes);
    const int group = kernel.group_id(static_cast<int>($first + index));
    arguments.push_back(filled(device, data, xrt::bo::flags::host_only, group));
  }

  const uint32_t length = static_cast<uint32_t>(words.size() / sizeof(uint32_t));
  auto started = kernel(transaction, program, length$arguments);
  if (started.wait() != ERT_CMD_STATE_COMPLETED)
    throw std::runtime_error("the NPU did not finish");

  for (size_t index = 0; index < count; ++index) {
    const auto found = outputs.find(buffers[index].name);
    if (found == outputs.end())
      continue;
    arguments[index].sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    std::ofstream file(found->second, std::ios::binary);
    file.write(arguments[index].map<const char *>(), static_cast<std::streamsize>(buffers[index].bytes));
    if (!file.flush())
      throw std::runtime_error("cannot write " + found->second);
  }
}

bool is_buffer(const std::string &name) {
  for (const Buffer &buffer : buffers)
    if (name == buffer.name)
      return true;
  return false;
}

} // namespace

int main(int argc, char **argv) {
  std::map<std::string, std::string> inputs, outputs;
  for (int index = 1; index < argc; ++index) {
    const std::string word = argv[index];
    const size_t at = word.find_first_of("=>");
    const std::string name = word.substr(0, at);
    if (at == std::string::npos || !is_buffer(name)) {
      std::fprintf(stderr, "usage: %s [NAME=FILE | 'NAME>FILE']...\\nbuffers:", argv[0]);
      for (const Buffer &buffer : buffers)
        std::fprintf(stderr, " %s (%zu bytes)", buffer.name, buffer.bytes);
      std::fprintf(stderr, "\\n");
      return 2;
    }
    (word[at] == '=' ? inputs : outputs)[name] = word.substr(at + 1);
  }
  const std::string self = argv[0];
  const size_t slash = self.rfind('/');
  try {
    run(slash == std::string::npos ? "./" : self.substr(0, slash + 1), inputs, outputs);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s: %s\\n", argv[0], error.what());
    return 1;
  }
  return 0;
}
""")

PYTHON = Template('''\
"""Runs $package with XRT.

    python $source $usage

Without a file, a buffer is zero; what is behind `>` is where a buffer is written to afterwards.
"""

import sys
from pathlib import Path

import pyxrt

FOLDER = Path(__file__).resolve().parent
BUFFERS = {
$buffers
}
TRANSACTION = 3  # the firmware's number for a stream of register writes


def filled(device, data, flags, group):
    buffer = pyxrt.bo(device, len(data), flags, group)
    buffer.write(data, 0)
    buffer.sync(pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE, len(data), 0)
    return buffer


def run(inputs, outputs):
    words = (FOLDER / $instructions).read_bytes()
    device = pyxrt.device(0)
    container = pyxrt.xclbin(str(FOLDER / $package_text))
    device.register_xclbin(container)
    context = pyxrt.hw_context(device, container.get_uuid())
    kernel = pyxrt.kernel(context, $kernel)

    program = filled(device, words, pyxrt.bo.cacheable, kernel.group_id(1))
    arguments = []
    for index, (name, size) in enumerate(BUFFERS.items()):
        data = Path(inputs[name]).read_bytes() if name in inputs else b""
        if len(data) > size:
            raise SystemExit(f"{inputs[name]} has more bytes than {name}")
        arguments.append(filled(device, data.ljust(size, b"\\0"), pyxrt.bo.host_only, kernel.group_id($first + index)))

    started = kernel(TRANSACTION, program, len(words) // 4, *arguments)
    if started.wait() != pyxrt.ert_cmd_state.ERT_CMD_STATE_COMPLETED:
        raise SystemExit("the NPU did not finish")

    for (name, size), buffer in zip(BUFFERS.items(), arguments):
        if name in outputs:
            buffer.sync(pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE, size, 0)
            Path(outputs[name]).write_bytes(bytes(buffer.read(size, 0)))


if __name__ == "__main__":
    inputs, outputs = {}, {}
    for word in sys.argv[1:]:
        at = min((word.find(sign) for sign in "=>" if sign in word), default=-1)
        if at < 0 or word[:at] not in BUFFERS:
            known = ", ".join(f"{name} ({size} bytes)" for name, size in BUFFERS.items())
            raise SystemExit(f"usage: {sys.argv[0]} [NAME=FILE | 'NAME>FILE']...\\nbuffers: {known}")
        (inputs if word[at] == "=" else outputs)[word[:at]] = word[at + 1 :]
    run(inputs, outputs)
''')


def host_programs(stem: str, kernel: str, sequence: RuntimeSequenceOp) -> dict[str, str]:
    """The programs for a package `STEM.xclbin` with instructions in `STEM.insts.bin`, by the names of their files."""
    buffers = host_buffers_of(sequence)
    package, instructions, program = f"{stem}.xclbin", f"{stem}.insts.bin", f"{stem}_host"
    first, last = (buffers[at].name if buffers else "NAME" for at in (0, -1))
    names: dict[str, object] = {
        "package": _plain(package),
        "program": _plain(program),
        "first": FIRST_BUFFER,
        "usage": f"{_plain(first)}=in.bin '{_plain(last)}>out.bin'",
    }
    cpp = CPP.substitute(
        names,
        source=_plain(f"{program}.cpp"),
        package_text=_cpp_text(package),
        instructions=_cpp_text(instructions),
        kernel=_cpp_text(kernel),
        buffers="\n".join(f"    {{{_cpp_text(it.name)}, {it.size_bytes}}}," for it in buffers),
        arguments="".join(f", arguments[{index}]" for index in range(len(buffers))),
    )
    python = PYTHON.substitute(
        names,
        source=_plain(f"{program}.py"),
        package_text=repr(package),
        instructions=repr(instructions),
        kernel=repr(kernel),
        buffers="\n".join(f"    {it.name!r}: {it.size_bytes}," for it in buffers),
    )
    return {f"{program}.cpp": cpp, f"{program}.py": python}


def _plain(name: str) -> str:
    """A name for a comment, which it must not end."""
    return re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)


def _cpp_text(text: str) -> str:
    """A text as C++ writes it; bytes that are not plain are octal, which ends by itself after three digits."""
    plain = {*range(0x20, 0x7F)} - {*b'"\\?'}
    data = text.encode("utf-8", "surrogateescape")
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in data) + '"'
