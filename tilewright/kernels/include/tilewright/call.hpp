// Calls of kernels by the runtime: an entry for each function, with its signature as the compiler knows it.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <type_traits>
#include <utility>

extern "C" {
// A function that the runtime can call; `call` is null if the source does not define it.
struct tilewright_entry {
  // Result, then parameters, each as a letter and a size in bytes: i and u integers, f floating point, v nothing, o
  // anything else; after p it is what a pointer points to.
  const char *signature;
  // Arguments in slots of eight bytes, and the result into another one.
  void (*call)(const uint64_t *slots, void *result);
};
}

namespace tilewright {

// Stands for a function that a source does not have, see TILEWRIGHT_MISSING.
struct missing_function {};

template <class T> constexpr char letter_of() {
  if constexpr (std::is_void_v<T>)
    return 'v';
  else if constexpr (std::is_enum_v<T> || (std::is_integral_v<T> && std::is_signed_v<T>))
    return 'i';
  else if constexpr (std::is_integral_v<T>)
    return 'u';
  // bfloat16 may be a class; vectors and accumulators are none of these.
  else if constexpr (std::is_floating_point_v<T> || (std::is_convertible_v<T, float> && sizeof(T) <= 4))
    return 'f';
  else
    return 'o';
}

template <class T> constexpr unsigned size_of() {
  if constexpr (std::is_void_v<T> || std::is_function_v<T>)
    return 0;
  else
    return sizeof(T);
}

struct text {
  char data[512] = {};
  unsigned length = 0;
  constexpr void add(char c) {
    if (length + 1 < sizeof data)
      data[length++] = c;
  }
  constexpr void add(unsigned number) {
    if (number >= 10)
      add(number / 10);
    add(char('0' + number % 10));
  }
};

template <class T, class = void> struct is_complete : std::false_type {};
template <class T> struct is_complete<T, std::void_t<decltype(sizeof(T))>> : std::true_type {};

template <class T> constexpr void describe(text &into) {
  using plain = std::remove_cv_t<T>;
  if constexpr (std::is_pointer_v<plain> || std::is_reference_v<plain>) {
    into.add('p');
    using target = std::remove_cv_t<std::remove_pointer_t<std::remove_reference_t<plain>>>;
    if constexpr (std::is_pointer_v<target> || (!std::is_void_v<target> && !is_complete<target>::value)) {
      into.add('o');
      into.add(0u);
    } else
      describe<target>(into);
  } else {
    into.add(letter_of<plain>());
    into.add(size_of<plain>());
  }
  into.add(' ');
}

template <class R, class... P> constexpr text signature_of() {
  text made;
  describe<R>(made);
  (describe<P>(made), ...);
  return made;
}

template <class R, class... P> struct signature {
  static constexpr text value = signature_of<R, P...>();
};

// A reference is passed as the pointer that it is.
template <class P> P argument(const uint64_t *slot) {
  if constexpr (std::is_reference_v<P>) {
    std::remove_reference_t<P> *pointer;
    std::memcpy(&pointer, slot, sizeof pointer);
    return static_cast<P>(*pointer);
  } else {
    std::remove_cv_t<P> value;
    std::memcpy(static_cast<void *>(&value), slot, sizeof value);
    return value;
  }
}

template <class F, F function, class I> struct caller;

template <class R, class... P, R (*function)(P...), std::size_t... I>
struct caller<R (*)(P...), function, std::index_sequence<I...>> {
  static void call(const uint64_t *slots, void *result) {
    R (*volatile target)(P...) = function; // not inlined: its lines stay its own
    if constexpr (std::is_void_v<R>)
      target(argument<P>(slots + I)...);
    else {
      R given = target(argument<P>(slots + I)...);
      std::memcpy(result, static_cast<const void *>(&given), sizeof given < 64 ? sizeof given : 64);
    }
  }
};

template <auto function, class R, class... P> constexpr tilewright_entry entry_with(R (*)(P...)) {
  return {signature<R, P...>::value.data,
          caller<R (*)(P...), function, std::make_index_sequence<sizeof...(P)>>::call};
}

template <auto function> constexpr tilewright_entry entry_of() {
  if constexpr (std::is_same_v<decltype(function), const missing_function *>)
    return {nullptr, nullptr};
  else
    return entry_with<function>(function);
}

} // namespace tilewright

// Qualified lookup takes what the source itself declares, and only else what a using-directive brings.
#define TILEWRIGHT_MISSING(name)                                                                                       \
  namespace tilewright_missing {                                                                                       \
  inline constexpr ::tilewright::missing_function name{};                                                             \
  }
// Of functions that share their name with templates or with intrinsics, the type that the source spells.
#define TILEWRIGHT_ENTRY_AS(name, ...)                                                                                 \
  extern "C" __attribute__((visibility("default"))) const tilewright_entry tilewright_entry_##name =                  \
      ::tilewright::entry_of<static_cast<__VA_ARGS__>(&::name)>();
#define TILEWRIGHT_ENTRY(name)                                                                                         \
  extern "C" __attribute__((visibility("default"))) const tilewright_entry tilewright_entry_##name =                  \
      ::tilewright::entry_of<&::name>();
