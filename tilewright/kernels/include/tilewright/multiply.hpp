// Products: element by element, of matrices, of sliding windows. All of them fill accumulators.
#pragma once

#include <utility>

#include "tilewright/arithmetic.hpp"
#include "tilewright/block_floats.hpp"

namespace tilewright {

// With accauto the operands decide. Together up to 32 bits fit 32-bit lanes.
template <class Tag, class A, class B>
using product_tag = std::conditional_t<
    !std::is_same_v<Tag, accauto>, Tag,
    std::conditional_t<is_float_class<A> || is_float_class<B>, accfloat, std::conditional_t<bits_of<A> + bits_of<B> <= 32, acc32, acc64>>>;

// Products that one issue makes, by the widths of the operands (UG1583 and UG1639, multiply-accumulate modes).
template <class A, class B> constexpr unsigned products_per_issue() {
#if defined(__AIE2P__)
  constexpr unsigned scale = 2;
#else
  constexpr unsigned scale = 1;
#endif
  if (is_float_class<A> || is_float_class<B>)
    return bits_of<A> <= 16 && bits_of<B> <= 16 ? 128 * scale : 16;
  unsigned bits = bits_of<A> * bits_of<B>;
  return bits <= 32 ? 512 * scale : bits <= 64 ? 256 * scale : bits <= 128 ? 128 * scale : bits <= 256 ? 64 * scale : bits <= 512 ? 32 : 16;
}

template <class A, class B, unsigned N> constexpr unsigned elementwise_issues() {
  // One accumulator register is filled an issue; wide operands are multiplied in parts.
  unsigned lane = is_float_class<A> || is_float_class<B> || bits_of<A> + bits_of<B> > 32 ? 8 : 4;
  unsigned parts = (bits_of<A> > 16 ? 2 : 1) * (bits_of<B> > 16 ? 2 : 1);
  return issues(N * lane, accum_bytes) * parts;
}

enum class sum { replaces, adds, subtracts, negates };

template <sum how, class S, unsigned L> TILEWRIGHT_INLINE simd<S, L> combine(simd<S, L> old, simd<S, L> product) {
  using lanes = arithmetic<S, L>;
  if constexpr (how == sum::replaces)
    return product;
  else if constexpr (how == sum::adds)
    return lanes::add(old, product);
  else if constexpr (how == sum::subtracts)
    return lanes::sub(old, product);
  else if constexpr (std::is_floating_point_v<S>)
    return -product;
  else
    return lanes::sub(simd<S, L>{}, product);
}

template <class V> struct operand_type {
  using type = V;
};
template <class T, unsigned N> struct operand_type<aie::vector<T, N>> {
  using type = T;
};
template <class V> using operand_t = typename operand_type<V>::type;

template <sum how, class Tag, unsigned N, class A, class B>
TILEWRIGHT_INLINE aie::accum<Tag, N> product(const aie::accum<Tag, N> &old, const A &a, const B &b) {
  using S = accum_lane_t<Tag>;
  constexpr unsigned L = step<S, N>;
  count(vector_mac, elementwise_issues<operand_t<A>, operand_t<B>, N>());
  aie::accum<Tag, N> result;
  for (unsigned i = 0; i < N; i += L) {
    auto made = arithmetic<S, L>::mul(operand<S, L>(a, i), operand<S, L>(b, i));
    result.template put<L>(i, combine<how, S, L>(how == sum::adds || how == sum::subtracts ? old.template get<L>(i) : made, made));
  }
  return result;
}

template <class A, class B> constexpr unsigned lanes_of_operands() {
  if constexpr (is_vector_v<A>)
    return size_v<A>;
  else
    return size_v<B>;
}
template <class V>
concept Operand = is_vector_v<V> || Scalar<V>;
template <class A, class B>
concept Multiplicable = Operand<A> && Operand<B> && (is_vector_v<A> || is_vector_v<B>) && !Complex<operand_t<A>> && !Complex<operand_t<B>>;

} // namespace tilewright

namespace aie {

#define TILEWRIGHT_PRODUCT(name, how)                                                                                            \
  template <class Tag = accauto, class A, class B>                                                                               \
    requires tilewright::Multiplicable<A, B>                                                                                     \
  TILEWRIGHT_INLINE auto name(const A &a, const B &b) {                                                                          \
    constexpr unsigned N = tilewright::lanes_of_operands<A, B>();                                                                \
    using Acc = accum<tilewright::product_tag<Tag, tilewright::operand_t<A>, tilewright::operand_t<B>>, N>;                      \
    return tilewright::product<how>(Acc{}, a, b);                                                                                \
  }
TILEWRIGHT_PRODUCT(mul, tilewright::sum::replaces)
TILEWRIGHT_PRODUCT(negmul, tilewright::sum::negates)
#undef TILEWRIGHT_PRODUCT

#define TILEWRIGHT_SUM_OF_PRODUCTS(name, how)                                                                                    \
  template <class Tag, unsigned N, class A, class B>                                                                             \
    requires tilewright::Multiplicable<A, B>                                                                                     \
  TILEWRIGHT_INLINE accum<Tag, N> name(const accum<Tag, N> &acc, const A &a, const B &b) {                                       \
    return tilewright::product<how>(acc, a, b);                                                                                  \
  }
TILEWRIGHT_SUM_OF_PRODUCTS(mac, tilewright::sum::adds)
TILEWRIGHT_SUM_OF_PRODUCTS(msc, tilewright::sum::subtracts)
#undef TILEWRIGHT_SUM_OF_PRODUCTS

#define TILEWRIGHT_SQUARE(suffix, value)                                                                                         \
  template <class Tag = accauto, class T, unsigned N> TILEWRIGHT_INLINE auto mul_##suffix(const vector<T, N> &v) {               \
    return mul<Tag>(value, v);                                                                                                   \
  }                                                                                                                              \
  template <class Tag, class T, unsigned N>                                                                                      \
  TILEWRIGHT_INLINE accum<Tag, N> mac_##suffix(const accum<Tag, N> &acc, const vector<T, N> &v) {                                \
    return mac(acc, value, v);                                                                                                   \
  }                                                                                                                              \
  template <class Tag, class T, unsigned N>                                                                                      \
  TILEWRIGHT_INLINE accum<Tag, N> msc_##suffix(const accum<Tag, N> &acc, const vector<T, N> &v) {                                \
    return msc(acc, value, v);                                                                                                   \
  }
TILEWRIGHT_SQUARE(square, v)
#undef TILEWRIGHT_SQUARE
template <class Tag = accauto, class T, unsigned N> TILEWRIGHT_INLINE auto abs_square(const vector<T, N> &v) {
  return mul<Tag>(v, v).template to_vector<T>();
}

// Products by the elements of `coeff` from `start` on, which wrap around its end.
template <unsigned N, class Tag, unsigned M, class C, unsigned K, class... Data>
TILEWRIGHT_INLINE accum<Tag, N> accumulate(const accum<Tag, M> &acc, const vector<C, K> &coeff, unsigned start, const Data &...data) {
  static_assert(M == N, "the accumulator has one lane for each of the results");
  accum<Tag, N> result = acc;
  unsigned i = start;
  ((result = mac(result, data, coeff.get(i++ % K))), ...);
  return result;
}
template <unsigned N, class Tag = accauto, class C, unsigned K, class First, class... More>
  requires tilewright::is_vector_v<First>
TILEWRIGHT_INLINE auto accumulate(const vector<C, K> &coeff, unsigned start, const First &first, const More &...more) {
  auto begun = mul<Tag>(first, coeff.get(start % K));
  if constexpr (sizeof...(More) == 0)
    return begun;
  else
    return accumulate<N>(begun, coeff, start + 1, more...);
}

// C += A * B for matrices in registers, row by row. Any shape that a register can hold: the hardware's are among them.
template <unsigned M_, unsigned K_, unsigned N_, class A_, class B_ = A_, class Tag_ = accauto> class mmul {
public:
  static constexpr unsigned M = M_, K = K_, N = N_;
  static constexpr unsigned size_A = M * K, size_B = K * N, size_C = M * N;
  using A_type = A_;
  using B_type = B_;
  using Tag = tilewright::product_tag<Tag_, A_, B_>;
  using accum_type = accum<Tag, size_C>;
  using vector_A_type = vector<A_, size_A>;
  using vector_B_type = vector<B_, size_B>;

  accum_type data;

  mmul() : data{} {}
  mmul(const accum_type &start) : data(start) {}
  template <class Other> mmul(const accum<Other, size_C> &start) : data(start) {}
  template <class T> mmul(const vector<T, size_C> &start, int shift = 0) : data(start, shift) {}

  TILEWRIGHT_INLINE void mul(const vector_A_type &a, const vector_B_type &b) { run<tilewright::sum::replaces>(a, b); }
  TILEWRIGHT_INLINE void mac(const vector_A_type &a, const vector_B_type &b) { run<tilewright::sum::adds>(a, b); }
  TILEWRIGHT_INLINE void msc(const vector_A_type &a, const vector_B_type &b) { run<tilewright::sum::subtracts>(a, b); }

  accum_type to_accum() const { return data; }
  operator accum_type() const { return data; }
  template <class T> vector<T, size_C> to_vector(int shift = 0) const { return data.template to_vector<T>(shift); }
  template <class T> vector<T, size_C> to_vector_sign(bool sign, int shift = 0) const {
    return data.template to_vector_sign<T>(sign, shift);
  }

private:
  using S = tilewright::accum_lane_t<Tag>;
  static constexpr unsigned width = tilewright::host_bytes / unsigned(sizeof(S));
  // As many rows at once as fill a register, if two registers hold what they need of A.
  static constexpr unsigned rows_at_once() {
    unsigned rows = 1;
    while (M % (2 * rows) == 0 && 2 * rows * N <= width && 2 * rows * K <= 2 * width)
      rows *= 2;
    return rows;
  }
  static constexpr unsigned R = rows_at_once();

  template <tilewright::sum how> TILEWRIGHT_INLINE void run(const vector_A_type &a, const vector_B_type &b) {
    if constexpr (tilewright::multiplies_blocks<M, K, N, A_, B_>) {
      data = tilewright::product_through_blocks(a, b, how == tilewright::sum::replaces ? accum_type{} : data,
                                                how == tilewright::sum::subtracts ? -1 : 1);
      return;
    }
    constexpr unsigned issues = tilewright::issues(M * K * N, tilewright::products_per_issue<A_, B_>());
    tilewright::count(tilewright::vector_mac, issues);
    if constexpr (R > 1)
      run_rows<how>(a, b, std::make_integer_sequence<unsigned, R * N>{}, std::make_integer_sequence<unsigned, K>{});
    else
      run_row<how>(a, b);
  }

  // The products of one call are summed before they join the lane: floats show it.
  template <tilewright::sum how, unsigned... i, unsigned... k>
  TILEWRIGHT_INLINE void run_rows(const vector_A_type &a, const vector_B_type &b, std::integer_sequence<unsigned, i...>,
                                  std::integer_sequence<unsigned, k...>) {
    constexpr unsigned L = R * N, part_A = R * K <= width ? R * K : R * K / 2, part_B = std::gcd(size_B, width);
    using lanes = tilewright::arithmetic<S, L>;
    tilewright::simd<S, part_B> parts[size_B / part_B];
    for (unsigned p = 0; p < size_B / part_B; ++p)
      parts[p] = tilewright::lanes<S, part_B, B_>(&b, p * part_B);
    for (unsigned m = 0; m < M; m += R) {
      const auto low = tilewright::lanes<S, part_A, A_>(&a, m * K), high = tilewright::lanes<S, part_A, A_>(&a, m * K + R * K - part_A);
      tilewright::simd<S, L> sum{};
      bool first = true;
      auto add = [&](auto factors, auto row) TILEWRIGHT_LAMBDA {
        auto made = lanes::mul(factors, row);
        sum = first ? made : lanes::add(sum, made);
        first = false;
      };
      (add(pick<(i / N * K)...>(low, high, std::integral_constant<unsigned, k>{}),
           pick<(i % N)...>(parts[k * N / part_B], parts[k * N / part_B], std::integral_constant<unsigned, k * N % part_B>{})),
       ...);
      data.template put<L>(m * N, tilewright::combine<how, S, L>(data.template get<L>(m * N), sum));
    }
  }
  template <unsigned... at, class V, unsigned offset>
  static TILEWRIGHT_INLINE auto pick(V low, V high, std::integral_constant<unsigned, offset>) {
    return __builtin_shufflevector(low, high, (at + offset)...);
  }

  template <tilewright::sum how> TILEWRIGHT_INLINE void run_row(const vector_A_type &a, const vector_B_type &b) {
    using tilewright::arithmetic;
    constexpr unsigned L = tilewright::step<S, N>;
    for (unsigned n = 0; n < N; n += L) {
      tilewright::simd<S, L> rows[K];
      for (unsigned k = 0; k < K; ++k)
        rows[k] = tilewright::lanes<S, L, B_>(&b, k * N + n);
      for (unsigned m = 0; m < M; ++m) {
        tilewright::simd<S, L> sum{};
        for (unsigned k = 0; k < K; ++k) {
          S factor = static_cast<S>(static_cast<tilewright::lane_t<A_>>(a.get(m * K + k)));
          auto made = arithmetic<S, L>::mul(arithmetic<S, L>::splat(factor), rows[k]);
          sum = k ? arithmetic<S, L>::add(sum, made) : made;
        }
        data.template put<L>(m * N + n, tilewright::combine<how, S, L>(data.template get<L>(m * N + n), sum));
      }
    }
  }
};

} // namespace aie
