// Complex numbers: vectors of cint16, cint32 and cfloat, and their accumulators.
//
// Real and imaginary parts lie beside each other (UG1079, complex data types), so a vector of N is one of 2 N real lanes.
#pragma once

#include "tilewright/multiply.hpp"
#include "tilewright/reshape.hpp"

namespace tilewright {

template <class V> struct conjugated { // an operand whose imaginary part counts negative
  V value;
};
template <class V> constexpr bool is_conjugated_v = false;
template <class V> constexpr bool is_conjugated_v<conjugated<V>> = true;

template <class Tag> struct complex_lanes;
template <> struct complex_lanes<cacc32> {
  using tag = acc32;
};
template <> struct complex_lanes<cacc64> {
  using tag = acc64;
};
template <> struct complex_lanes<caccfloat> {
  using tag = accfloat;
};
template <class Tag>
concept ComplexTag = requires { typename complex_lanes<Tag>::tag; };
template <ComplexTag Tag> using real_tag = typename complex_lanes<Tag>::tag;

// The real vector of the same bits, and back.
template <Complex T, unsigned N> TILEWRIGHT_INLINE auto parts_of(const aie::vector<T, N> &v) {
  return bits_as<aie::vector<part_t<T>, 2 * N>>(v);
}
template <Complex T, unsigned M> TILEWRIGHT_INLINE auto complex_of(const aie::vector<part_t<T>, M> &v) {
  return bits_as<aie::vector<T, M / 2>>(v);
}

// One operand of a product at a place, in the lane's type: a vector or a number, real or complex, conjugated or not.
template <class S> struct complex_number {
  S real, imag;
};
template <class S, class V> TILEWRIGHT_INLINE complex_number<S> number_at(const V &v, unsigned i) {
  if constexpr (is_conjugated_v<V>) {
    auto plain = number_at<S>(v.value, i);
    return {plain.real, S(-plain.imag)};
  } else if constexpr (is_vector_v<V>)
    return number_at<S>(v.get(i), 0);
  else if constexpr (Complex<V>)
    return {S(v.real), S(v.imag)};
  else
    return {S(static_cast<lane_t<V>>(v)), S(0)};
}

template <class V> struct bare {
  using type = V;
};
template <class V> struct bare<conjugated<V>> {
  using type = V;
};
template <class V> using bare_t = typename bare<V>::type;
template <class V>
concept ComplexOperand = Complex<operand_t<bare_t<V>>> || is_conjugated_v<V>;
template <class V>
concept AnyOperand = ComplexOperand<V> || Operand<V>;
template <class A, class B>
concept ComplexProduct =
    AnyOperand<A> && AnyOperand<B> && (ComplexOperand<A> || ComplexOperand<B>) && (is_vector_v<bare_t<A>> || is_vector_v<bare_t<B>>);

// With accauto: integers fill 64-bit lanes, the only complex ones of these cores (UG1583, accumulators).
template <class Tag, class A, class B>
using complex_product_tag = std::conditional_t<
    !std::is_same_v<Tag, accauto>, Tag,
    std::conditional_t<is_float_class<operand_t<bare_t<A>>> || is_float_class<operand_t<bare_t<B>>>, caccfloat, cacc64>>;

} // namespace tilewright

namespace aie {

template <class Tag, unsigned N>
  requires tilewright::ComplexTag<Tag>
class accum<Tag, N> {
public:
  using parts_type = accum<tilewright::real_tag<Tag>, 2 * N>;
  using value_type = Tag;
  using lane_type = tilewright::complex_number<typename parts_type::lane_type>;
  parts_type parts;

  accum() = default;
  template <tilewright::Complex T> accum(const vector<T, N> &from, int shift = 0) { from_vector(from, shift); }

  static constexpr unsigned size() { return N; }
  static constexpr unsigned bits() { return parts_type::bits(); }
  static constexpr bool is_complex() { return true; }
  static constexpr bool is_real() { return false; }
  static constexpr bool is_floating_point() { return parts_type::is_floating_point(); }

  lane_type get(unsigned i) const { return {parts[2 * i], parts[2 * i + 1]}; }
  void set(lane_type value, unsigned i) { parts[2 * i] = value.real, parts[2 * i + 1] = value.imag; }

  template <tilewright::Complex T> void from_vector(const vector<T, N> &from, int shift = 0) {
    parts.from_vector(tilewright::parts_of(from), shift);
  }
  template <tilewright::Complex T> vector<T, N> to_vector(int shift = 0) const {
    return tilewright::complex_of<T>(parts.template to_vector<tilewright::part_t<T>>(shift));
  }
  template <tilewright::Complex T> operator vector<T, N>() const { return to_vector<T>(); }

  template <unsigned M> accum<Tag, M> extract(unsigned index) const {
    return tilewright::part_of<accum<Tag, M>>(*this, index);
  }
  template <unsigned M> accum &insert(unsigned index, const accum<Tag, M> &part) {
    tilewright::put_part(*this, index, part);
    return *this;
  }
};

} // namespace aie

namespace tilewright {

template <sum how, class Tag, unsigned N, class A, class B>
TILEWRIGHT_INLINE aie::accum<Tag, N> complex_product(const aie::accum<Tag, N> &old, const A &a, const B &b) {
  using S = typename aie::accum<Tag, N>::parts_type::lane_type;
  using W = typename wrapping<S>::type; // integers wrap
  // four products of real numbers for two complex ones, two if one of them is real
  constexpr unsigned factors = (ComplexOperand<A> ? 2 : 1) * (ComplexOperand<B> ? 2 : 1);
  count(vector_mac, factors * elementwise_issues<part_t<operand_t<bare_t<A>>>, part_t<operand_t<bare_t<B>>>, N>());
  aie::accum<Tag, N> result;
  for (unsigned i = 0; i < N; ++i) {
    const auto x = number_at<S>(a, i), y = number_at<S>(b, i);
    W real = W(x.real) * W(y.real) - W(x.imag) * W(y.imag), imag = W(x.real) * W(y.imag) + W(x.imag) * W(y.real);
    if constexpr (how == sum::subtracts || how == sum::negates)
      real = W(0) - real, imag = W(0) - imag;
    if constexpr (how == sum::adds || how == sum::subtracts) {
      const auto before = old.get(i);
      real = W(before.real) + real, imag = W(before.imag) + imag;
    }
    result.set({S(real), S(imag)}, i);
  }
  return result;
}

template <class A, class B> constexpr unsigned complex_size() {
  if constexpr (is_vector_v<bare_t<A>>)
    return size_v<bare_t<A>>;
  else
    return size_v<bare_t<B>>;
}

} // namespace tilewright

namespace aie {

#define TILEWRIGHT_COMPLEX_PRODUCT(name, how)                                                                                    \
  template <class Tag = accauto, class A, class B>                                                                               \
    requires tilewright::ComplexProduct<A, B>                                                                                    \
  TILEWRIGHT_INLINE auto name(const A &a, const B &b) {                                                                          \
    using Acc = accum<tilewright::complex_product_tag<Tag, A, B>, tilewright::complex_size<A, B>()>;                             \
    return tilewright::complex_product<how>(Acc{}, a, b);                                                                        \
  }
TILEWRIGHT_COMPLEX_PRODUCT(mul, tilewright::sum::replaces)
TILEWRIGHT_COMPLEX_PRODUCT(negmul, tilewright::sum::negates)
#undef TILEWRIGHT_COMPLEX_PRODUCT

#define TILEWRIGHT_COMPLEX_SUM(name, how)                                                                                        \
  template <tilewright::ComplexTag Tag, unsigned N, class A, class B>                                                            \
    requires tilewright::ComplexProduct<A, B>                                                                                    \
  TILEWRIGHT_INLINE accum<Tag, N> name(const accum<Tag, N> &acc, const A &a, const B &b) {                                       \
    return tilewright::complex_product<how>(acc, a, b);                                                                          \
  }
TILEWRIGHT_COMPLEX_SUM(mac, tilewright::sum::adds)
TILEWRIGHT_COMPLEX_SUM(msc, tilewright::sum::subtracts)
#undef TILEWRIGHT_COMPLEX_SUM

#define TILEWRIGHT_COMPLEX_BINARY(name)                                                                                          \
  template <tilewright::Complex T, unsigned N>                                                                                   \
  TILEWRIGHT_INLINE vector<T, N> name(const vector<T, N> &a, const vector<T, N> &b) {                                            \
    return tilewright::complex_of<T>(name(tilewright::parts_of(a), tilewright::parts_of(b)));                                    \
  }                                                                                                                              \
  template <tilewright::Complex T, unsigned N>                                                                                   \
  TILEWRIGHT_INLINE vector<T, N> name(const vector<T, N> &a, std::type_identity_t<T> b) {                                        \
    return name(a, broadcast<T, N>(b));                                                                                          \
  }                                                                                                                              \
  template <tilewright::Complex T, unsigned N>                                                                                   \
  TILEWRIGHT_INLINE vector<T, N> name(std::type_identity_t<T> a, const vector<T, N> &b) {                                        \
    return name(broadcast<T, N>(a), b);                                                                                          \
  }                                                                                                                              \
  template <tilewright::ComplexTag Tag, unsigned N>                                                                              \
  TILEWRIGHT_INLINE accum<Tag, N> name(const accum<Tag, N> &a, const accum<Tag, N> &b) {                                         \
    accum<Tag, N> result;                                                                                                        \
    result.parts = name(a.parts, b.parts);                                                                                       \
    return result;                                                                                                               \
  }
TILEWRIGHT_COMPLEX_BINARY(add)
TILEWRIGHT_COMPLEX_BINARY(sub)
#undef TILEWRIGHT_COMPLEX_BINARY

template <tilewright::Complex T, unsigned N> TILEWRIGHT_INLINE vector<T, N> neg(const vector<T, N> &v) {
  return tilewright::complex_of<T>(neg(tilewright::parts_of(v)));
}
template <tilewright::Complex T, unsigned N> TILEWRIGHT_INLINE vector<T, N> conj(const vector<T, N> &v) {
  auto parts = tilewright::parts_of(v), negative = neg(parts);
  for (unsigned i = 1; i < 2 * N; i += 2)
    parts.set(negative.get(i), i);
  return tilewright::complex_of<T>(parts);
}
template <tilewright::Complex T, unsigned N> TILEWRIGHT_INLINE auto op_conj(const vector<T, N> &v) {
  return tilewright::conjugated<vector<T, N>>{v};
}
template <tilewright::Complex T> TILEWRIGHT_INLINE auto op_conj(T value) { return tilewright::conjugated<T>{value}; }

template <tilewright::Complex T, unsigned N> TILEWRIGHT_INLINE vector<tilewright::part_t<T>, N> real(const vector<T, N> &v) {
  return filter_even(tilewright::parts_of(v), 1);
}
template <tilewright::Complex T, unsigned N> TILEWRIGHT_INLINE vector<tilewright::part_t<T>, N> imag(const vector<T, N> &v) {
  return filter_odd(tilewright::parts_of(v), 1);
}

// Sums of real and imaginary parts, halves to halves as for real numbers.
template <tilewright::Complex T, unsigned N> TILEWRIGHT_INLINE T reduce_add(const vector<T, N> &v) {
  return {reduce_add(real(v)), reduce_add(imag(v))};
}

} // namespace aie
