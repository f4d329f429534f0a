// Vectors of a buffer in the order that a tensor's dimensions give (UG1529, tensor buffer streams).
#pragma once

#include "tilewright/memory.hpp"

namespace aie {

// `num` steps of `step` vectors each; outermost dimension first.
struct tensor_dim {
  unsigned num;
  int step;
  constexpr tensor_dim() = default;
  constexpr tensor_dim(unsigned num, int step) : num(num), step(step) {}
};

template <unsigned Rank, class T, unsigned Elems> struct tensor_descriptor {
  using type = T;
  using vector_type = vector<T, Elems>;
  static constexpr unsigned elems = Elems, rank = Rank;
  std::array<tensor_dim, Rank> dims; // steps in bytes

  constexpr tensor_descriptor() = default;
  constexpr explicit tensor_descriptor(const std::array<tensor_dim, Rank> &from, bool byte_steps = false) : dims(from) {
    if (!byte_steps)
      for (tensor_dim &dim : dims)
        dim.step *= int(sizeof(vector_type));
  }
};

template <class T, unsigned Elems, class... Dims> constexpr auto make_tensor_descriptor(Dims... dims) {
  return tensor_descriptor<sizeof...(Dims), T, Elems>(std::array<tensor_dim, sizeof...(Dims)>{tensor_dim(dims)...});
}
template <class T, unsigned Elems, size_t Rank> constexpr auto make_tensor_descriptor(const std::array<tensor_dim, Rank> &dims) {
  return tensor_descriptor<Rank, T, Elems>(dims);
}
template <class T, unsigned Elems, class... Dims> constexpr auto make_tensor_descriptor_bytes(Dims... dims) {
  return tensor_descriptor<sizeof...(Dims), T, Elems>(std::array<tensor_dim, sizeof...(Dims)>{tensor_dim(dims)...}, true);
}

// Three dimensions are walked by the address generator; of more, the three outermost are, and each pop gives a stream of the rest.
template <unsigned Rank, class T, unsigned Elems> class tensor_buffer_stream {
  static constexpr unsigned outer = Rank < 3 ? Rank : 3;
  using element = std::remove_const_t<T>;
  using byte = std::conditional_t<std::is_const_v<T>, const char, char>;
  byte *at;
  std::array<tensor_dim, Rank> dims;
  std::array<unsigned, outer> done{};

  byte *advance() {
    byte *here = at;
    for (unsigned d = outer; d-- > 0;) {
      at += dims[d].step;
      if (d == 0 || ++done[d] < dims[d].num)
        break;
      at -= ptrdiff_t(dims[d].step) * dims[d].num;
      done[d] = 0;
    }
    return here;
  }

public:
  using value_type = vector<element, Elems>;

  tensor_buffer_stream(T *base, const std::array<tensor_dim, Rank> &dims) : at(reinterpret_cast<byte *>(base)), dims(dims) {}

  auto pop() {
    if constexpr (Rank > 3) {
      std::array<tensor_dim, Rank - 3> rest;
      for (unsigned d = 3; d < Rank; ++d)
        rest[d - 3] = dims[d];
      return tensor_buffer_stream<Rank - 3, T, Elems>(reinterpret_cast<T *>(advance()), rest);
    } else
      return load_v<Elems>(reinterpret_cast<const element *>(advance()));
  }
  void push(const value_type &value) {
    static_assert(Rank <= 3, "pop the inner stream and write to that");
    store_v(reinterpret_cast<element *>(advance()), value);
  }
  tensor_buffer_stream &operator>>(value_type &value) {
    value = pop();
    return *this;
  }
  tensor_buffer_stream &operator<<(const value_type &value) {
    push(value);
    return *this;
  }
};

template <class T, unsigned Rank, class U, unsigned Elems>
auto make_tensor_buffer_stream(T *base, const tensor_descriptor<Rank, U, Elems> &descriptor) {
  return tensor_buffer_stream<Rank, T, Elems>(base, descriptor.dims);
}
template <class T, unsigned Rank, class U, unsigned Elems>
auto make_restrict_tensor_buffer_stream(T *base, const tensor_descriptor<Rank, U, Elems> &descriptor) {
  return tensor_buffer_stream<Rank, T, Elems>(base, descriptor.dims);
}

} // namespace aie
