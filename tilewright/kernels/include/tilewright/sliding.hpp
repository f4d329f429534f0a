// Products of coefficients with a window that slides over the data: filters and convolutions.
#pragma once

#include "tilewright/multiply.hpp"

namespace tilewright {

// out[o, c] = sum over p of coeff[start + p * coeff_step, c] * data[start + o * step_y + p * step_x, c]; indices wrap around the
// ends of the registers (UG1603, sliding multiplication; with channels these are innermost).
template <sum how, unsigned Outputs, unsigned Channels, unsigned Points, int CoeffStep, int DataStepX, int DataStepY, class Tag, class C,
          unsigned NC, class D, unsigned ND>
TILEWRIGHT_INLINE aie::accum<Tag, Outputs * Channels> slide(const aie::accum<Tag, Outputs * Channels> &old, const aie::vector<C, NC> &coeff,
                                                            unsigned coeff_start, const aie::vector<D, ND> &data, unsigned data_start) {
  using S = accum_lane_t<Tag>;
  constexpr unsigned N = Outputs * Channels, L = step<S, N>;
  count(vector_mac, issues(N * Points, products_per_issue<C, D>()));
  aie::accum<Tag, N> sums{};
  // Neighbours slide over neighbours: the window is a load from the data laid twice.
  if (Channels == 1 && DataStepY == 1 && DataStepX >= 0 && !is_nibble<D> && data_start % ND + N + Points * DataStepX <= 2 * ND) {
    const aie::vector<D, ND> twice[2] = {data, data};
    const char *at = reinterpret_cast<const char *>(twice) + data_start % ND * sizeof(stored_t<D>);
    for (unsigned p = 0; p < Points; ++p) {
      const S factor = static_cast<S>(static_cast<lane_t<C>>(coeff.get((coeff_start + p * CoeffStep) % NC)));
      for (unsigned i = 0; i < N; i += L)
        sums.template put<L>(i, arithmetic<S, L>::add(sums.template get<L>(i), arithmetic<S, L>::mul(lanes<S, L, D>(at, p * DataStepX + i),
                                                                                                     arithmetic<S, L>::splat(factor))));
    }
  } else
    for (unsigned p = 0; p < Points; ++p) {
      aie::vector<D, N> window;
      aie::vector<C, N> factors;
      for (unsigned i = 0; i < N; ++i) {
        unsigned o = i / Channels, c = i % Channels;
        window.set(data.get((data_start + (o * DataStepY + p * DataStepX) * Channels + c) % ND), i);
        factors.set(coeff.get((coeff_start + p * CoeffStep * Channels + c) % NC), i);
      }
      for (unsigned i = 0; i < N; i += L)
        sums.template put<L>(i, arithmetic<S, L>::add(sums.template get<L>(i), arithmetic<S, L>::mul(lanes<S, L, D>(&window, i),
                                                                                                       lanes<S, L, C>(&factors, i))));
    }
  for (unsigned i = 0; i < N; i += L)
    sums.template put<L>(i, combine<how, S, L>(old.template get<L>(i), sums.template get<L>(i)));
  return sums;
}

} // namespace tilewright

namespace aie {

template <unsigned Outputs, unsigned Channels, unsigned Points, int CoeffStep, int DataStepX, int DataStepY, class Coeff, class Data,
          class Tag = accauto>
struct sliding_mul_ch_ops {
  using coeff_type = Coeff;
  using data_type = Data;
  using tag = tilewright::product_tag<Tag, Coeff, Data>;
  static constexpr unsigned lanes = Outputs * Channels, points = Points;
  using accum_type = accum<tag, lanes>;

#define TILEWRIGHT_SLIDE(name, how)                                                                                              \
  template <unsigned NC, unsigned ND>                                                                                            \
  static TILEWRIGHT_INLINE accum_type name(const vector<Coeff, NC> &coeff, unsigned coeff_start, const vector<Data, ND> &data,   \
                                           unsigned data_start = 0) {                                                            \
    return tilewright::slide<how, Outputs, Channels, Points, CoeffStep, DataStepX, DataStepY, tag>(accum_type{}, coeff,          \
                                                                                                   coeff_start, data, data_start); \
  }
  TILEWRIGHT_SLIDE(mul, tilewright::sum::replaces)
  TILEWRIGHT_SLIDE(negmul, tilewright::sum::negates)
#undef TILEWRIGHT_SLIDE
#define TILEWRIGHT_SLIDE(name, how)                                                                                              \
  template <unsigned NC, unsigned ND>                                                                                            \
  static TILEWRIGHT_INLINE accum_type name(const accum_type &acc, const vector<Coeff, NC> &coeff, unsigned coeff_start,          \
                                           const vector<Data, ND> &data, unsigned data_start = 0) {                              \
    return tilewright::slide<how, Outputs, Channels, Points, CoeffStep, DataStepX, DataStepY, tag>(acc, coeff, coeff_start,      \
                                                                                                   data, data_start);            \
  }
  TILEWRIGHT_SLIDE(mac, tilewright::sum::adds)
  TILEWRIGHT_SLIDE(msc, tilewright::sum::subtracts)
#undef TILEWRIGHT_SLIDE
};

template <unsigned O, unsigned C, unsigned P, int CS, int DX, class Coeff, class Data, class Tag = accauto>
using sliding_mul_ch_x_ops = sliding_mul_ch_ops<O, C, P, CS, DX, 1, Coeff, Data, Tag>;
template <unsigned O, unsigned C, unsigned P, int CS, int DY, class Coeff, class Data, class Tag = accauto>
using sliding_mul_ch_y_ops = sliding_mul_ch_ops<O, C, P, CS, 1, DY, Coeff, Data, Tag>;
template <unsigned O, unsigned C, unsigned P, int CS, int D, class Coeff, class Data, class Tag = accauto>
using sliding_mul_ch_xy_ops = sliding_mul_ch_ops<O, C, P, CS, D, D, Coeff, Data, Tag>;

template <unsigned Lanes, unsigned P, int CS, int DX, int DY, class Coeff, class Data, class Tag = accauto>
using sliding_mul_ops = sliding_mul_ch_ops<Lanes, 1, P, CS, DX, DY, Coeff, Data, Tag>;
template <unsigned Lanes, unsigned P, int CS, int DX, class Coeff, class Data, class Tag = accauto>
using sliding_mul_x_ops = sliding_mul_ops<Lanes, P, CS, DX, 1, Coeff, Data, Tag>;
template <unsigned Lanes, unsigned P, int CS, int DY, class Coeff, class Data, class Tag = accauto>
using sliding_mul_y_ops = sliding_mul_ops<Lanes, P, CS, 1, DY, Coeff, Data, Tag>;
template <unsigned Lanes, unsigned P, int CS, int D, class Coeff, class Data, class Tag = accauto>
using sliding_mul_xy_ops = sliding_mul_ops<Lanes, P, CS, D, D, Coeff, Data, Tag>;

// The same as functions.
template <unsigned Lanes, unsigned Points, int CS = 1, int DX = 1, int DY = 1, class Tag = accauto, class C, unsigned NC, class D, unsigned ND>
TILEWRIGHT_INLINE auto sliding_mul(const vector<C, NC> &coeff, unsigned coeff_start, const vector<D, ND> &data, unsigned data_start = 0) {
  return sliding_mul_ops<Lanes, Points, CS, DX, DY, C, D, Tag>::mul(coeff, coeff_start, data, data_start);
}
template <unsigned Lanes, unsigned Points, int CS = 1, int DX = 1, int DY = 1, class Tag, class C, unsigned NC, class D, unsigned ND>
TILEWRIGHT_INLINE auto sliding_mac(const accum<Tag, Lanes> &acc, const vector<C, NC> &coeff, unsigned coeff_start,
                                   const vector<D, ND> &data, unsigned data_start = 0) {
  return sliding_mul_ops<Lanes, Points, CS, DX, DY, C, D, Tag>::mac(acc, coeff, coeff_start, data, data_start);
}
template <unsigned O, unsigned Ch, unsigned Points, int CS = 1, int DX = 1, int DY = 1, class Tag = accauto, class C, unsigned NC, class D, unsigned ND>
TILEWRIGHT_INLINE auto sliding_mul_ch(const vector<C, NC> &coeff, unsigned coeff_start, const vector<D, ND> &data, unsigned data_start = 0) {
  return sliding_mul_ch_ops<O, Ch, Points, CS, DX, DY, C, D, Tag>::mul(coeff, coeff_start, data, data_start);
}
template <unsigned O, unsigned Ch, unsigned Points, int CS = 1, int DX = 1, int DY = 1, class Tag, class C, unsigned NC, class D, unsigned ND>
TILEWRIGHT_INLINE auto sliding_mac_ch(const accum<Tag, O * Ch> &acc, const vector<C, NC> &coeff, unsigned coeff_start,
                                      const vector<D, ND> &data, unsigned data_start = 0) {
  return sliding_mul_ch_ops<O, Ch, Points, CS, DX, DY, C, D, Tag>::mac(acc, coeff, coeff_start, data, data_start);
}

} // namespace aie
