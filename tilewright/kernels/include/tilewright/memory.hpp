// Loads, stores and iterators.
#pragma once

#include <cstddef>

#include "tilewright/vectors.hpp"

enum class aie_dm_resource { none, a, b, c, d, stack };

namespace aie {

constexpr unsigned vector_decl_align = 32;
constexpr unsigned vector_ldst_align_v = 32;
template <class T> constexpr unsigned native_vector_length_v = 512 / tilewright::bits_of<T>;

template <unsigned N, class T> TILEWRIGHT_INLINE vector<std::remove_cv_t<T>, N> load_v(const T *from) {
  using V = vector<std::remove_cv_t<T>, N>;
  tilewright::check_aligned(const_cast<const std::remove_cv_t<T> *>(from), sizeof(V));
  tilewright::count(tilewright::load, tilewright::issues(sizeof(V), tilewright::memory_bytes));
  V result;
  __builtin_memcpy(&result, const_cast<const std::remove_cv_t<T> *>(from), sizeof result);
  return result;
}
template <class T> TILEWRIGHT_INLINE auto load_v(const T *from) { return load_v<native_vector_length_v<T>>(from); }

template <unsigned N, aie_dm_resource, class T> TILEWRIGHT_INLINE auto load_v(const T *from) { return load_v<N>(from); }

// The address may be any multiple of `aligned_elements` elements.
template <unsigned N, class T>
TILEWRIGHT_INLINE vector<std::remove_cv_t<T>, N> load_unaligned_v(const T *from, unsigned aligned_elements = 1) {
  (void)aligned_elements;
  using V = vector<std::remove_cv_t<T>, N>;
  // its second half is read as well
  tilewright::count(tilewright::load, tilewright::issues(sizeof(V), tilewright::memory_bytes) + 1);
  V result;
  __builtin_memcpy(&result, const_cast<const std::remove_cv_t<T> *>(from), sizeof result);
  return result;
}
template <class T> TILEWRIGHT_INLINE auto load_unaligned_v(const T *from, unsigned aligned_elements = 1) {
  return load_unaligned_v<native_vector_length_v<T>>(from, aligned_elements);
}
// Rounds the address down to where a vector of this size may stand.
template <unsigned N, class T> TILEWRIGHT_INLINE auto load_floor_v(const T *from) {
  constexpr uintptr_t align = N * sizeof(T) < vector_decl_align ? N * sizeof(T) : vector_decl_align;
  return load_v<N>(reinterpret_cast<const T *>(reinterpret_cast<uintptr_t>(from) & ~(align - 1)));
}
template <class T> TILEWRIGHT_INLINE auto load_floor_v(const T *from) { return load_floor_v<native_vector_length_v<T>>(from); }

template <class T, class U, unsigned N> TILEWRIGHT_INLINE T *store_v(T *to, const vector<U, N> &value) {
  tilewright::check_aligned(to, sizeof value);
  tilewright::count(tilewright::store, tilewright::issues(sizeof value, tilewright::memory_bytes));
  __builtin_memcpy(to, &value, sizeof value);
  return to;
}
template <aie_dm_resource, class T, class U, unsigned N> TILEWRIGHT_INLINE T *store_v(T *to, const vector<U, N> &value) {
  return store_v(to, value);
}
template <class T, class U, unsigned N>
TILEWRIGHT_INLINE T *store_unaligned_v(T *to, const vector<U, N> &value, unsigned aligned_elements = 1) {
  (void)aligned_elements;
  tilewright::count(tilewright::store, tilewright::issues(sizeof value, tilewright::memory_bytes) + 1);
  __builtin_memcpy(to, &value, sizeof value);
  return to;
}

// Walks an array in steps of N elements. Reading `*it` of an array that may be written counts as a store.
template <class T, unsigned N> class vector_iterator {
  using element = std::remove_cv_t<T>;
  static constexpr bool is_const = std::is_const_v<T>;
  using V = std::conditional_t<is_const, const vector<element, N>, vector<element, N>>;
  T *at = nullptr;
  static constexpr ptrdiff_t stride = sizeof(vector<element, N>) / sizeof(tilewright::stored_t<element>);

  static T *moved(T *from, ptrdiff_t vectors) { return from + vectors * stride; }

public:
  using value_type = vector<element, N>;
  using difference_type = ptrdiff_t;
  using pointer = V *;
  using reference = V &;

  constexpr vector_iterator() = default;
  constexpr explicit vector_iterator(T *start) : at(start) {}

  TILEWRIGHT_INLINE reference operator*() const {
    tilewright::count(is_const ? tilewright::load : tilewright::store, tilewright::issues(sizeof(V), tilewright::memory_bytes));
    return *reinterpret_cast<V *>(at);
  }
  pointer operator->() const { return &**this; }
  reference operator[](ptrdiff_t n) const { return *(*this + n); }
  vector_iterator &operator++() { return *this += 1; }
  vector_iterator &operator--() { return *this -= 1; }
  vector_iterator operator++(int) {
    vector_iterator old = *this;
    ++*this;
    return old;
  }
  vector_iterator operator--(int) {
    vector_iterator old = *this;
    --*this;
    return old;
  }
  vector_iterator &operator+=(ptrdiff_t n) {
    at = moved(at, n);
    return *this;
  }
  vector_iterator &operator-=(ptrdiff_t n) { return *this += -n; }
  friend vector_iterator operator+(vector_iterator it, ptrdiff_t n) { return it += n; }
  friend vector_iterator operator+(ptrdiff_t n, vector_iterator it) { return it += n; }
  friend vector_iterator operator-(vector_iterator it, ptrdiff_t n) { return it -= n; }
  friend ptrdiff_t operator-(vector_iterator a, vector_iterator b) { return (a.at - b.at) / stride; }
  friend bool operator==(vector_iterator a, vector_iterator b) { return a.at == b.at; }
  friend bool operator<(vector_iterator a, vector_iterator b) { return a.at < b.at; }
  friend bool operator>(vector_iterator a, vector_iterator b) { return b < a; }
  friend bool operator<=(vector_iterator a, vector_iterator b) { return !(b < a); }
  friend bool operator>=(vector_iterator a, vector_iterator b) { return !(a < b); }
};

// The same over a ring of `size` elements.
template <class T, unsigned N> class circular_vector_iterator {
  vector_iterator<T, N> first, at, end;

public:
  circular_vector_iterator(T *start, unsigned size) : first(start), at(start), end(first + size / N) {}
  decltype(auto) operator*() const { return *at; }
  circular_vector_iterator &operator++() { return *this += 1; }
  circular_vector_iterator &operator--() { return *this -= 1; }
  circular_vector_iterator operator++(int) {
    circular_vector_iterator old = *this;
    ++*this;
    return old;
  }
  circular_vector_iterator operator--(int) {
    circular_vector_iterator old = *this;
    --*this;
    return old;
  }
  circular_vector_iterator &operator+=(ptrdiff_t n) {
    const ptrdiff_t length = end - first, to = (at - first + n) % length;
    at = first + (to < 0 ? to + length : to);
    return *this;
  }
  circular_vector_iterator &operator-=(ptrdiff_t n) { return *this += -n; }
  friend circular_vector_iterator operator+(circular_vector_iterator it, ptrdiff_t n) { return it += n; }
  friend circular_vector_iterator operator-(circular_vector_iterator it, ptrdiff_t n) { return it -= n; }
  friend bool operator==(const circular_vector_iterator &a, const circular_vector_iterator &b) { return a.at == b.at; }
};

template <class T, unsigned N> using const_vector_iterator = vector_iterator<const T, N>;
template <class T, unsigned N> using restrict_vector_iterator = vector_iterator<T, N>;
template <class T, unsigned N> using const_restrict_vector_iterator = vector_iterator<const T, N>;

#define TILEWRIGHT_BEGIN(name, qualifier)                                                                                        \
  template <unsigned N, class T> auto name(qualifier T *start) { return vector_iterator<qualifier T, N>(start); }                \
  template <class T> auto name(qualifier T *start) {                                                                             \
    return vector_iterator<qualifier T, native_vector_length_v<std::remove_cv_t<T>>>(start);                                     \
  }                                                                                                                              \
  template <unsigned N, class T> auto name##_circular(qualifier T *start, unsigned size) {                                       \
    return circular_vector_iterator<qualifier T, N>(start, size);                                                                \
  }                                                                                                                              \
  template <unsigned N, unsigned Size, class T> auto name##_circular(qualifier T *start) {                                       \
    return circular_vector_iterator<qualifier T, N>(start, Size);                                                                \
  }                                                                                                                              \
  template <unsigned N, class T> auto name##_random_circular(qualifier T *start, unsigned size) {                                \
    return circular_vector_iterator<qualifier T, N>(start, size);                                                                \
  }
#define TILEWRIGHT_PLAIN
TILEWRIGHT_BEGIN(begin_vector, TILEWRIGHT_PLAIN)
TILEWRIGHT_BEGIN(begin_restrict_vector, TILEWRIGHT_PLAIN)
TILEWRIGHT_BEGIN(cbegin_vector, const)
TILEWRIGHT_BEGIN(cbegin_restrict_vector, const)
TILEWRIGHT_BEGIN(begin_unaligned_vector, TILEWRIGHT_PLAIN)
TILEWRIGHT_BEGIN(cbegin_unaligned_vector, const)
#undef TILEWRIGHT_PLAIN
#undef TILEWRIGHT_BEGIN

} // namespace aie
