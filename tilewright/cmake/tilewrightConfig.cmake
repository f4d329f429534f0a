# find_package(tilewright): generators of TXN streams as libraries of a CMake project. README.md says how.
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

cmake_minimum_required(VERSION 3.16...3.30)

get_filename_component(_tilewright_package "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
set(tilewright_INCLUDE_DIR "${_tilewright_package}/include")

# The command of this installation, or the one on PATH; without one, the package itself where it lies, with some Python.
if(NOT TILEWRIGHT_COMMAND)
  get_filename_component(_tilewright_prefix "${_tilewright_package}/../../../.." ABSOLUTE)
  find_program(TILEWRIGHT_PROGRAM tilewright HINTS "${_tilewright_prefix}/bin")
  mark_as_advanced(TILEWRIGHT_PROGRAM)
  if(TILEWRIGHT_PROGRAM)
    set(TILEWRIGHT_COMMAND "${TILEWRIGHT_PROGRAM}")
  else()
    get_filename_component(_tilewright_root "${_tilewright_package}/.." ABSOLUTE)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    set(TILEWRIGHT_COMMAND "${CMAKE_COMMAND}" -E env "PYTHONPATH=${_tilewright_root}" "${Python3_EXECUTABLE}" -m
                           tilewright)
  endif()
endif()

if(NOT TARGET tilewright::headers)
  add_library(tilewright::headers INTERFACE IMPORTED GLOBAL)
  target_include_directories(tilewright::headers INTERFACE "${tilewright_INCLUDE_DIR}")
  target_compile_features(tilewright::headers INTERFACE cxx_std_17)
endif()

# aie_generate_txn_library(TARGET DESIGN [SEQUENCES name...] [HEADER_ONLY] [LIBRARY name] [ENTRY name] [KEEP_BUFFERS]
#                          [OPTIONS option...] [DEPENDS file...])
function(aie_generate_txn_library target design)
  cmake_parse_arguments(PARSE_ARGV 2 arg "HEADER_ONLY;KEEP_BUFFERS" "LIBRARY;ENTRY" "SEQUENCES;OPTIONS;DEPENDS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "aie_generate_txn_library(${target}): what is '${arg_UNPARSED_ARGUMENTS}'?")
  endif()
  if(arg_HEADER_ONLY AND NOT arg_SEQUENCES)
    message(FATAL_ERROR "aie_generate_txn_library(${target}): HEADER_ONLY needs SEQUENCES, whose headers are wanted")
  endif()
  get_filename_component(source "${design}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  if(NOT EXISTS "${source}" AND NOT IS_ABSOLUTE "${design}")
    get_filename_component(source "${design}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}") # made by the project
  endif()
  if(NOT arg_LIBRARY)
    string(MAKE_C_IDENTIFIER "${target}" arg_LIBRARY)
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.txn")
  # Headers that the build does not know of would be out of date: there are none on the include path.
  set(include "${folder}/include")
  file(MAKE_DIRECTORY "${include}") # CMake wants it to be there before it builds
  set(command ${TILEWRIGHT_COMMAND} compile "${source}" -o "${folder}" ${arg_OPTIONS})
  if(arg_ENTRY)
    list(APPEND command --entry "${arg_ENTRY}")
  endif()
  if(arg_KEEP_BUFFERS)
    list(APPEND command --keep-buffers)
  endif()
  set(made)
  set(headers)
  foreach(sequence IN LISTS arg_SEQUENCES)
    list(APPEND headers "${sequence}.h")
  endforeach()
  if(NOT arg_HEADER_ONLY)
    list(APPEND command --shared --library "${arg_LIBRARY}")
    list(APPEND made "${folder}/lib${arg_LIBRARY}.so")
    list(APPEND headers "lib${arg_LIBRARY}.h")
  endif()
  set(copies)
  foreach(header IN LISTS headers)
    list(APPEND made "${include}/${header}")
    list(APPEND copies COMMAND "${CMAKE_COMMAND}" -E copy "${folder}/${header}" "${include}/${header}")
  endforeach()
  add_custom_command(
    OUTPUT ${made}
    COMMAND ${command} ${copies}
    DEPENDS "${source}" ${arg_DEPENDS}
    COMMENT "Generating TXN library ${target} from ${design}"
    VERBATIM)
  add_custom_target(${target}_txn DEPENDS ${made})
  if(arg_HEADER_ONLY)
    add_library(${target} INTERFACE IMPORTED GLOBAL)
  else()
    add_library(${target} SHARED IMPORTED GLOBAL)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${folder}/lib${arg_LIBRARY}.so"
                                               IMPORTED_SONAME "lib${arg_LIBRARY}.so")
  endif()
  add_dependencies(${target} ${target}_txn)
  target_include_directories(${target} INTERFACE "${include}")
  target_link_libraries(${target} INTERFACE tilewright::headers)
  set_target_properties(${target} PROPERTIES TXN_DIRECTORY "${folder}")
endfunction()
