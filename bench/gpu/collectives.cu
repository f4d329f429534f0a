// Collectives of ranks whose memory is mapped by all of them, written by hand in CUDA C++ to compare with.
// Kernels are named KIND_RANKS_DEPTH, for much data, and small_KIND_RANKS, for little.
#include <cstdint>

#define MOST_RANKS 8
#define ROUND_WORDS 512

struct Peers {
  char *send[MOST_RANKS], *receive[MOST_RANKS];
  unsigned *flags[MOST_RANKS];
  unsigned long long *places[MOST_RANKS];
  unsigned *turn;
  int me, root;
};

static __device__ __forceinline__ void store_release(unsigned *place, unsigned value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(place), "r"(value) : "memory");
}
static __device__ __forceinline__ unsigned load_acquire(const unsigned *place) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(place) : "memory");
  return value;
}
static __device__ __forceinline__ void store_relaxed(unsigned long long *place, unsigned long long value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(place), "l"(value) : "memory");
}
static __device__ __forceinline__ unsigned long long load_relaxed(const unsigned long long *place) {
  unsigned long long value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(place) : "memory");
  return value;
}

// Blocks of one number of all ranks wait for each other, at two points in turn.
template <int RANKS> __device__ __forceinline__ void meet(const Peers &peers, int point) {
  __syncthreads();
  if (threadIdx.x < RANKS) {
    const int here = (point * gridDim.x + blockIdx.x) * MOST_RANKS;
    store_release(peers.flags[threadIdx.x] + here + peers.me, 1);
    unsigned *mine = peers.flags[peers.me] + here + threadIdx.x;
    while (load_acquire(mine) != 1);
    asm volatile("st.relaxed.sys.global.u32 [%0], 0;" ::"l"(mine) : "memory");
  }
  __syncthreads();
}
extern "C" __global__ void meet_2(Peers peers, long) { meet<2>(peers, 0); meet<2>(peers, 1); }
extern "C" __global__ void meet_4(Peers peers, long) { meet<4>(peers, 0); meet<4>(peers, 1); }
extern "C" __global__ void meet_8(Peers peers, long) { meet<8>(peers, 0); meet<8>(peers, 1); }

// Calls a function with the numbers of vectors of a part, DEPTH at a time as far as they go.
template <int N> struct Depth { static constexpr int value = N; };
template <int DEPTH, class Body> __device__ __forceinline__ void each(long first, long stop, Body body) {
  const long step = blockDim.x, whole = (stop - first) / (step * DEPTH);
  for (long part = blockIdx.x; part < whole; part += gridDim.x)
    body(first + part * step * DEPTH + threadIdx.x, Depth<DEPTH>());
  for (long i = first + (whole * DEPTH + blockIdx.x) * step + threadIdx.x; i < stop; i += gridDim.x * step)
    body(i, Depth<1>());
}

// Vectors of one rank to all.
template <int RANKS, int DEPTH>
__device__ __forceinline__ void spread(const Peers &peers, const uint4 *source, long target, long first, long stop) {
  each<DEPTH>(first, stop, [&](long i, auto depth) {
    constexpr int N = decltype(depth)::value;
    uint4 values[N];
#pragma unroll
    for (int k = 0; k < N; k++) values[k] = source[i + k * (long)blockDim.x];
#pragma unroll
    for (int step = 0; step < RANKS; step++) {
      uint4 *there = (uint4 *)peers.receive[(peers.me + step) % RANKS] + target;
#pragma unroll
      for (int k = 0; k < N; k++) there[i + k * (long)blockDim.x] = values[k];
    }
  });
}

static __device__ __forceinline__ float4 operator+(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// The sum of what all ranks have, to one rank or to all.
template <int RANKS, int DEPTH, bool ALL>
__device__ __forceinline__ void reduce(const Peers &peers, long source, long first, long stop) {
  each<DEPTH>(first, stop, [&](long i, auto depth) {
    constexpr int N = decltype(depth)::value;
    float4 found[RANKS][N];
#pragma unroll
    for (int rank = 0; rank < RANKS; rank++)
#pragma unroll
      for (int k = 0; k < N; k++) found[rank][k] = ((const float4 *)peers.send[rank])[source + i + k * (long)blockDim.x];
#pragma unroll
    for (int rank = 1; rank < RANKS; rank++)
#pragma unroll
      for (int k = 0; k < N; k++) found[0][k] = found[0][k] + found[rank][k];
#pragma unroll
    for (int step = 0; step < (ALL ? RANKS : 1); step++) {
      float4 *there = (float4 *)peers.receive[ALL ? (peers.me + step) % RANKS : peers.me];
#pragma unroll
      for (int k = 0; k < N; k++) there[i + k * (long)blockDim.x] = found[0][k];
    }
  });
}

// `count` is the number of vectors of a part: of what a rank has for another one, or of all where it is not cut.
template <int RANKS, int DEPTH> __device__ __forceinline__ void all_gather(const Peers &p, long count) {
  spread<RANKS, DEPTH>(p, (const uint4 *)p.send[p.me], p.me * count, 0, count);
}
template <int RANKS, int DEPTH> __device__ __forceinline__ void broadcast(const Peers &p, long count) {
  const long share = (count + RANKS - 1) / RANKS, first = min(p.me * share, count);
  spread<RANKS, DEPTH>(p, (const uint4 *)p.send[p.root], 0, first, min(first + share, count));
}
template <int RANKS, int DEPTH> __device__ __forceinline__ void all_to_all(const Peers &p, long count) {
  for (int step = 0; step < RANKS; step++) {
    const int other = (p.me + step) % RANKS;
    const uint4 *mine = (const uint4 *)p.send[p.me] + other * count;
    uint4 *there = (uint4 *)p.receive[other] + p.me * count;
    each<DEPTH>(0, count, [&](long i, auto depth) {
      constexpr int N = decltype(depth)::value;
      uint4 values[N];
#pragma unroll
      for (int k = 0; k < N; k++) values[k] = mine[i + k * (long)blockDim.x];
#pragma unroll
      for (int k = 0; k < N; k++) there[i + k * (long)blockDim.x] = values[k];
    });
  }
}
template <int RANKS, int DEPTH> __device__ __forceinline__ void reduce_scatter(const Peers &p, long count) {
  reduce<RANKS, DEPTH, false>(p, p.me * count, 0, count);
}
template <int RANKS, int DEPTH> __device__ __forceinline__ void all_reduce(const Peers &p, long count) {
  const long share = (count + RANKS - 1) / RANKS, first = min(p.me * share, count);
  reduce<RANKS, DEPTH, true>(p, 0, first, min(first + share, count));
}

#define LARGE(kind, ranks, depth)                                                                            \
  extern "C" __global__ void __launch_bounds__(512) kind##_##ranks##_##depth(Peers peers, long count) {      \
    meet<ranks>(peers, 0);                                                                                   \
    kind<ranks, depth>(peers, count);                                                                        \
    meet<ranks>(peers, 1);                                                                                   \
  }
#define LARGE_OF(kind) \
  LARGE(kind, 2, 2) LARGE(kind, 2, 4) LARGE(kind, 2, 8) \
  LARGE(kind, 4, 2) LARGE(kind, 4, 4) LARGE(kind, 4, 8) \
  LARGE(kind, 8, 2) LARGE(kind, 8, 4) LARGE(kind, 8, 8)
LARGE_OF(all_gather)
LARGE_OF(broadcast)
LARGE_OF(all_to_all)
LARGE_OF(reduce_scatter)
LARGE_OF(all_reduce)

// Words with the turn that they are of beside them: eight bytes, which arrive at once. A warp for each rank.
enum Kind { ALL_GATHER, BROADCAST, ALL_TO_ALL, REDUCE_SCATTER, ALL_REDUCE };
template <int RANKS, Kind KIND> __device__ __forceinline__ void small(const Peers &p, long count) {
  constexpr bool IS_CUT = KIND == ALL_TO_ALL || KIND == REDUCE_SCATTER;
  constexpr bool IS_REDUCED = KIND == REDUCE_SCATTER || KIND == ALL_REDUCE;
  __shared__ unsigned parts[RANKS][ROUND_WORDS];
  const int other = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned turn = *p.turn + 1;
  const unsigned *mine = (const unsigned *)p.send[p.me] + (IS_CUT ? other * count : 0);
  unsigned *result = (unsigned *)p.receive[p.me];
  unsigned long long *there = p.places[other] + ((turn & 1) * MOST_RANKS + p.me) * ROUND_WORDS;
  const unsigned long long *here = p.places[p.me] + ((turn & 1) * MOST_RANKS + other) * ROUND_WORDS;
  for (int i = lane; i < count; i += 32) store_relaxed(there + i, (unsigned long long)turn << 32 | mine[i]);
  for (int i = lane; i < count; i += 32) {
    unsigned long long seen;
    do seen = load_relaxed(here + i);
    while ((unsigned)(seen >> 32) != turn);
    if (IS_REDUCED) parts[other][i] = (unsigned)seen;
    else if (KIND != BROADCAST) result[other * count + i] = (unsigned)seen;
    else if (other == p.root) result[i] = (unsigned)seen;
  }
  __syncthreads();
  if (IS_REDUCED)
    for (int i = threadIdx.x; i < count; i += 32 * RANKS) {
      float total = __uint_as_float(parts[0][i]);
#pragma unroll
      for (int rank = 1; rank < RANKS; rank++) total += __uint_as_float(parts[rank][i]);
      ((float *)result)[i] = total;
    }
  if (threadIdx.x == 0) *p.turn = turn;
}
#define SMALL(name, kind, ranks) \
  extern "C" __global__ void __launch_bounds__(32 * ranks) small_##name##_##ranks(Peers p, long count) { small<ranks, kind>(p, count); }
#define SMALL_OF(name, kind) SMALL(name, kind, 2) SMALL(name, kind, 4) SMALL(name, kind, 8)
SMALL_OF(all_gather, ALL_GATHER)
SMALL_OF(broadcast, BROADCAST)
SMALL_OF(all_to_all, ALL_TO_ALL)
SMALL_OF(reduce_scatter, REDUCE_SCATTER)
SMALL_OF(all_reduce, ALL_REDUCE)
