// Operators on vectors, which `using namespace aie::operators` brings in, and operations on operands (`aie::op_...`).
#pragma once

#include "tilewright/complex.hpp"
#include "tilewright/functions.hpp"
#include "tilewright/multiply.hpp"

namespace tilewright {
template <class A, class B>
concept VectorOperands = (is_vector_v<A> && (is_vector_v<B> || Scalar<B>)) || (Scalar<A> && is_vector_v<B>);
template <class A, class B>
concept AccumOperands = is_accum_v<A> && (is_accum_v<B> || is_vector_v<B> || Scalar<B>);
} // namespace tilewright

namespace aie {

namespace operators {

#define TILEWRIGHT_OPERATOR(op, function, operands)                                                                              \
  template <class A, class B>                                                                                                    \
    requires operands<A, B>                                                                                                      \
  TILEWRIGHT_INLINE auto operator op(const A &a, const B &b) {                                                                   \
    return aie::function(a, b);                                                                                                  \
  }
TILEWRIGHT_OPERATOR(+, add, tilewright::VectorOperands)
TILEWRIGHT_OPERATOR(-, sub, tilewright::VectorOperands)
TILEWRIGHT_OPERATOR(*, mul, tilewright::VectorOperands)
TILEWRIGHT_OPERATOR(/, div, tilewright::VectorOperands)
TILEWRIGHT_OPERATOR(&, bit_and, tilewright::VectorOperands)
TILEWRIGHT_OPERATOR(|, bit_or, tilewright::VectorOperands)
TILEWRIGHT_OPERATOR(^, bit_xor, tilewright::VectorOperands)
TILEWRIGHT_OPERATOR(==, eq, tilewright::VectorOperands)
TILEWRIGHT_OPERATOR(!=, neq, tilewright::VectorOperands)
TILEWRIGHT_OPERATOR(<, lt, tilewright::VectorOperands)
TILEWRIGHT_OPERATOR(<=, le, tilewright::VectorOperands)
TILEWRIGHT_OPERATOR(>, gt, tilewright::VectorOperands)
TILEWRIGHT_OPERATOR(>=, ge, tilewright::VectorOperands)
TILEWRIGHT_OPERATOR(+, add, tilewright::AccumOperands)
TILEWRIGHT_OPERATOR(-, sub, tilewright::AccumOperands)
#undef TILEWRIGHT_OPERATOR

template <class T, unsigned N> TILEWRIGHT_INLINE auto operator-(const vector<T, N> &v) { return neg(v); }
template <class Tag, unsigned N> TILEWRIGHT_INLINE auto operator-(const accum<Tag, N> &v) { return neg(v); }
template <class T, unsigned N> TILEWRIGHT_INLINE auto operator~(const vector<T, N> &v) { return bit_not(v); }
template <class T, unsigned N> TILEWRIGHT_INLINE auto operator<<(const vector<T, N> &v, unsigned shift) { return upshift(v, shift); }
template <class T, unsigned N> TILEWRIGHT_INLINE auto operator>>(const vector<T, N> &v, unsigned shift) { return downshift(v, shift); }
template <class T, unsigned N, class B> TILEWRIGHT_INLINE auto &operator+=(vector<T, N> &a, const B &b) { return a = add(a, b); }
template <class T, unsigned N, class B> TILEWRIGHT_INLINE auto &operator-=(vector<T, N> &a, const B &b) { return a = sub(a, b); }
template <class T, unsigned N, class B> TILEWRIGHT_INLINE auto &operator+=(accum<T, N> &a, const B &b) { return a = add(a, b); }
template <class T, unsigned N, class B> TILEWRIGHT_INLINE auto &operator-=(accum<T, N> &a, const B &b) { return a = sub(a, b); }

} // namespace operators

// On hardware these may join the multiplication that they are an operand of; the values are the same either way.
template <class V> TILEWRIGHT_INLINE V op_none(const V &v) { return v; }
template <class V> TILEWRIGHT_INLINE V op_zero(const V &) { return V{}; }
template <class V> TILEWRIGHT_INLINE V op_conj(const V &v) { return v; } // real numbers
template <class V> TILEWRIGHT_INLINE auto op_abs(const V &v) { return abs(v); }
template <class V> TILEWRIGHT_INLINE auto op_add(const V &v) { return v; }
template <class V> TILEWRIGHT_INLINE auto op_sub(const V &v) { return neg(v); }
template <class V> TILEWRIGHT_INLINE auto op_add(const V &a, const V &b) { return add(a, b); }
template <class V> TILEWRIGHT_INLINE auto op_sub(const V &a, const V &b) { return sub(a, b); }
template <class V> TILEWRIGHT_INLINE auto op_min(const V &a, const V &b) { return min(a, b); }
template <class V> TILEWRIGHT_INLINE auto op_max(const V &a, const V &b) { return max(a, b); }

template <class V> constexpr bool is_vector_v = tilewright::is_vector_v<V>;
template <class V> constexpr bool is_accum_v = tilewright::is_accum_v<V>;
template <class V>
concept Vector = tilewright::is_vector_v<V>;
template <class V>
concept Accum = tilewright::is_accum_v<V>;
template <class V>
concept Elem = tilewright::Scalar<V>;
template <class T> using accum_tag_for_type = std::conditional<
    tilewright::is_float_class<T>, accfloat, std::conditional_t<(tilewright::bits_of<T> > 16), acc64, acc32>>;
template <class A, class B> using accum_tag_for_mul_types = std::type_identity<tilewright::product_tag<accauto, A, B>>;
// Shapes and types that the hardware lacks are computed here all the same.
template <class A, class B> constexpr bool is_valid_mul_op_v = tilewright::Multiplicable<A, B>;

} // namespace aie
