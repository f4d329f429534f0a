// Kernels as users write them, for those that the library has in NumPy: what both compute must be the same.

template <typename T> void copy(const T *in, T *out, int n) {
  constexpr int lanes = 64 / sizeof(T);
  for (int i = 0; i < n; i += lanes)
    aie::store_v(out + i, aie::load_v<lanes>(in + i));
}

template <typename T> void scale(const T *a, T *c, const int32 *factor, int n) {
  constexpr int lanes = 32 / sizeof(T) * 2;
  for (int i = 0; i < n; i += lanes)
    aie::store_v(c + i, aie::mul(aie::load_v<lanes>(a + i), T(*factor)).template to_vector<T>());
}

template <bool is_product> void combine(const bfloat16 *a, const bfloat16 *b, bfloat16 *c) {
  for (int i = 0; i < 1024; i += 16) {
    auto x = aie::load_v<16>(a + i), y = aie::load_v<16>(b + i);
    if constexpr (is_product)
      aie::store_v(c + i, aie::mul(x, y).to_vector<bfloat16>());
    else
      aie::store_v(c + i, aie::add(x, y));
  }
}

template <typename T, typename Step, typename Last> void reduce(const T *a, T *c, int n, T first, Step step, Last last) {
  constexpr int lanes = 64 / sizeof(T);
  auto found = aie::broadcast<T, lanes>(first);
  for (int i = 0; i < n; i += lanes)
    found = step(found, aie::load_v<lanes>(a + i));
  *c = last(found);
}

// Matrices in blocks of R x S, S x T and R x T.
template <int R, int S, int T, typename In, typename Out, typename Acc>
void product(const In *a, const In *b, Out *c, int m, int k, int n) {
  for (int row = 0; row < m / R; row++)
    for (int column = 0; column < n / T; column++) {
      Out *block = c + (row * (n / T) + column) * R * T;
      aie::mmul<R, S, T, In, In, Acc> sum(aie::load_v<R * T>(block));
      for (int i = 0; i < k / S; i++)
        sum.mac(aie::load_v<R * S>(a + (row * (k / S) + i) * R * S), aie::load_v<S * T>(b + (i * (n / T) + column) * S * T));
      aie::store_v(block, sum.template to_vector<Out>());
    }
}

// Pixels have eight channels beside each other; weights are blocks of eight inputs by eight outputs.
template <typename In> void pointwise(const In *in, const int8 *weights, uint8 *out, int width, int inputs, int outputs, int shift) {
  aie::set_saturation(aie::saturation_mode::saturate);
  aie::set_rounding(aie::rounding_mode::positive_inf);
  for (int o = 0; o < outputs / 8; o++)
    for (int x = 0; x < width; x += 4) {
      aie::mmul<4, 8, 8, In, int8> sum;
      for (int i = 0; i < inputs / 8; i++) {
        auto pixels = aie::load_v<32>(in + (i * width + x) * 8);
        auto taps = aie::load_v<64>(weights + (o * (inputs / 8) + i) * 64);
        i ? sum.mac(pixels, taps) : sum.mul(pixels, taps);
      }
      aie::store_v(out + (o * width + x) * 8, sum.template to_vector<uint8>(shift));
    }
}

extern "C" {
void passThroughLine_ui8(uint8 *in, uint8 *out, int32 n) { copy(in, out, n); }
void passThroughLine_i16(int16 *in, int16 *out, int32 n) { copy(in, out, n); }
void passThroughLine_i32(int32 *in, int32 *out, int32 n) { copy(in, out, n); }
void vector_scalar_mul_vector_i16(int16 *a, int16 *c, int32 *factor, int32 n) { scale(a, c, factor, n); }
void vector_scalar_mul_vector_i32(int32 *a, int32 *c, int32 *factor, int32 n) { scale(a, c, factor, n); }
void eltwise_add_bf16_vector(bfloat16 *a, bfloat16 *b, bfloat16 *c) { combine<false>(a, b, c); }
void eltwise_mul_bf16_vector(bfloat16 *a, bfloat16 *b, bfloat16 *c) { combine<true>(a, b, c); }

void bf16_relu(bfloat16 *a, bfloat16 *c) {
  for (int i = 0; i < 1024; i += 32)
    aie::store_v(c + i, aie::max(aie::load_v<32>(a + i), aie::zeros<bfloat16, 32>()));
}

void reduce_add_vector(int32 *a, int32 *c, int32 n) {
  reduce<int32>(a, c, n, 0, [](auto x, auto y) { return aie::add(x, y); }, [](auto v) { return aie::reduce_add(v); });
}
void reduce_min_vector(int32 *a, int32 *c, int32 n) {
  reduce<int32>(a, c, n, INT32_MAX, [](auto x, auto y) { return aie::min(x, y); }, [](auto v) { return aie::reduce_min(v); });
}
void reduce_max_vector(int32 *a, int32 *c, int32 n) {
  reduce<int32>(a, c, n, INT32_MIN, [](auto x, auto y) { return aie::max(x, y); }, [](auto v) { return aie::reduce_max(v); });
}

void zero_i32(int32 *c, int32 n) {
  for (int i = 0; i < n; i += 16)
    aie::store_v(c + i, aie::zeros<int32, 16>());
}
void matmul_i16_i32(int16 *a, int16 *b, int32 *c, int32 m, int32 k, int32 n) {
  product<4, 4, 4, int16, int32, acc32>(a, b, c, m, k, n);
}
void matmul_i8_i32(int8 *a, int8 *b, int32 *c, int32 m, int32 k, int32 n) {
  product<4, 8, 8, int8, int32, acc32>(a, b, c, m, k, n);
}
void matmul_bf16_f32(bfloat16 *a, bfloat16 *b, float *c, int32 m, int32 k, int32 n) {
  product<4, 8, 4, bfloat16, float, accfloat>(a, b, c, m, k, n);
}
void conv2dk1_i8(int8 *in, int8 *w, uint8 *out, int32 width, int32 ci, int32 co, int32 shift) {
  pointwise(in, w, out, width, ci, co, shift);
}
void conv2dk1_ui8(uint8 *in, int8 *w, uint8 *out, int32 width, int32 ci, int32 co, int32 shift) {
  pointwise(in, w, out, width, ci, co, shift);
}
void bitwiseANDLine(uint8 *a, uint8 *b, uint8 *out, int32 n) {
  for (int i = 0; i < n; i += 64)
    aie::store_v(out + i, aie::bit_and(aie::load_v<64>(a + i), aie::load_v<64>(b + i)));
}

// Powers of two of a newer core, whose function takes the logarithm's base with it.
void exp_bf16_1024(bfloat16 *a, bfloat16 *c) {
  for (int i = 0; i < 1024; i += 16)
    aie::store_v(c + i, aie::exp2<bfloat16>(aie::mul(aie::load_v<16>(a + i), bfloat16(1.4426950408889634f)).to_vector<float>()));
}
void softmax_bf16(bfloat16 *in, bfloat16 *out, int32 n) {
  float sum = 0;
  for (int i = 0; i < n; i += 16) {
    auto powers = aie::exp2<bfloat16>(aie::mul(aie::load_v<16>(in + i), bfloat16(1.4426950408889634f)).to_vector<float>());
    aie::store_v(out + i, powers);
    sum += aie::reduce_add(aie::accum<accfloat, 16>(powers).to_vector<float>());
  }
  for (int i = 0; i < n; i += 16)
    aie::store_v(out + i, aie::mul(aie::load_v<16>(out + i), bfloat16(aie::inv(sum))).to_vector<bfloat16>());
}
}
