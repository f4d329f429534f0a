// The algorithms of the AIR programs beside this file, written by hand in CUDA C++ to compare with.
#define WORDS 31

static __device__ __forceinline__ int load_relaxed(const int *place) {
  int value;
  asm volatile("ld.relaxed.sys.global.b32 %0, [%1];" : "=r"(value) : "l"(place) : "memory");
  return value;
}
static __device__ __forceinline__ void store_relaxed(int *place, int value) {
  asm volatile("st.relaxed.sys.global.b32 [%0], %1;" ::"l"(place), "r"(value) : "memory");
}
static __device__ __forceinline__ long long load_relaxed(const long long *place) {
  long long value;
  asm volatile("ld.relaxed.sys.global.b64 %0, [%1];" : "=l"(value) : "l"(place) : "memory");
  return value;
}
static __device__ __forceinline__ void store_relaxed(long long *place, long long value) {
  asm volatile("st.relaxed.sys.global.b64 [%0], %1;" ::"l"(place), "l"(value) : "memory");
}
static __device__ __forceinline__ long long load_acquire(const long long *place) {
  long long value;
  asm volatile("ld.acquire.sys.global.b64 %0, [%1];" : "=l"(value) : "l"(place) : "memory");
  return value;
}
static __device__ __forceinline__ void store_release(long long *place, long long value) {
  asm volatile("st.release.sys.global.b64 [%0], %1;" ::"l"(place), "l"(value) : "memory");
}

// Two blocks of one warp send each other a message in turn: a line of 128 bytes whose last word is its number.
extern "C" __global__ void line_round_trips(int *lines, int *wrong, long long rounds) {
  const int me = blockIdx.x, lane = threadIdx.x;
  int *mine = lines + 32 * me, *theirs = lines + 32 * (1 - me);
  for (long long round = 0; round < rounds; round++) {
    const int stamp = round + 1, sent = lane == WORDS ? stamp : (int)round + lane;
    if (me == 0) store_relaxed(theirs + lane, sent);
    int got;
    do got = load_relaxed(mine + lane);
    while (__shfl_sync(~0u, got, WORDS) != stamp);
    if (me == 1) store_relaxed(theirs + lane, sent);
    if (got != sent) atomicAdd(wrong, 1);
  }
}

// The same with a counter that is released behind the payload and acquired before it.
extern "C" __global__ void ordered_round_trips(int *data, long long *counters, int *wrong, long long rounds) {
  const int me = blockIdx.x, lane = threadIdx.x;
  int *mine = data + 32 * me, *theirs = data + 32 * (1 - me);
  long long *my_counter = counters + 16 * me, *their_counter = counters + 16 * (1 - me);
  for (long long round = 0; round < rounds; round++) {
    const int value = (int)round + lane;
    for (int half = 0; half < 2; half++) {
      if (half == me) {
        if (lane < WORDS) theirs[lane] = value;
        __syncwarp();
        if (lane == 0) store_release(their_counter, round + 1);
      } else {
        while (load_acquire(my_counter) == round);
        if (lane < WORDS && *(volatile int *)(mine + lane) != value) atomicAdd(wrong, 1);
        __syncwarp();
      }
    }
  }
}

// The 4096^3 product as upstream's AIR program has it: tiles of 128 x 128 in shared memory, 8 x 8 in registers.
extern "C" __global__ __launch_bounds__(256) void upstream_matmul(const float *A, const float *B, float *C) {
  __shared__ float As[128][8], Bs[8][128];
  const int size = 4096, row0 = blockIdx.y * 128, column0 = blockIdx.x * 128, thread = threadIdx.x;
  const int row = thread % 16 * 8, column = thread / 16 * 8;
  float sums[64], a[8], b[8];
  for (int i = 0; i < 64; i++) sums[i] = 0;
  for (int k = 0; k < size; k += 8) {
    for (int i = thread; i < 1024; i += 256) As[i / 8][i % 8] = A[(row0 + i / 8) * size + k + i % 8];
    for (int i = thread; i < 1024; i += 256) Bs[i / 128][i % 128] = B[(k + i / 128) * size + column0 + i % 128];
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 8; kk++) {
      for (int i = 0; i < 8; i++) a[i] = As[row + i][kk];
      for (int i = 0; i < 8; i++) b[i] = Bs[kk][column + i];
      for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++) sums[y * 8 + x] += a[y] * b[x];
    }
    __syncthreads();
  }
  for (int y = 0; y < 8; y++)
    for (int x = 0; x < 8; x++) C[(row0 + row + y) * size + column0 + column + x] = sums[y * 8 + x];
}

// The same through channels with flow control, as the AIR lowering has it: counters on either side that outlive a
// launch, one place for lines, and two for ordered messages, which are given back when the next one is waited for.
struct Side {
  long long filled[16], received[16], emptied[16], sent[16];
  int places[2][32];
};
static __device__ __forceinline__ void line_put(Side *own, Side *peer, const int *message, int lane) {
  __syncwarp();
  const long long number = own->sent[0];
  while (number - load_relaxed(own->emptied) >= 1);
  const int word = lane == WORDS ? (int)number + 1 : message[lane];
  __syncwarp();
  store_relaxed(peer->places[0] + lane, word);
  if (lane == 0) own->sent[0] = number + 1;
}
static __device__ __forceinline__ void line_get(Side *own, Side *peer, int *message, int lane) {
  __syncwarp();
  const long long number = own->received[0];
  int word;
  do word = load_relaxed(own->places[0] + lane);
  while (__shfl_sync(~0u, word, WORDS) != (int)number + 1);
  if (lane == 0) {
    store_relaxed(peer->emptied, number + 1);
    own->received[0] = number + 1;
  }
  if (lane < WORDS) message[lane] = word;
  __syncwarp();
}
static __device__ __forceinline__ void ordered_put(Side *own, Side *peer, const int *message, int lane) {
  __syncwarp();
  const long long number = own->sent[0];
  while (number - load_acquire(own->emptied) >= 2);
  if (lane < WORDS) *(volatile int *)(peer->places[number % 2] + lane) = message[lane];
  __syncwarp();
  if (lane == 0) {
    store_release(peer->filled, number + 1);
    own->sent[0] = number + 1;
  }
}
static __device__ __forceinline__ void ordered_get(Side *own, Side *peer, int *message, int lane) {
  __syncwarp();
  const long long number = own->received[0];
  if (lane == 0) store_release(peer->emptied, number);
  while (load_acquire(own->filled) == number);
  if (lane < WORDS) message[lane] = *(volatile int *)(own->places[number % 2] + lane);
  __syncwarp();
  if (lane == 0) own->received[0] = number + 1;
}
#define CHANNEL_ROUND_TRIPS(name, put, get)                                                      \
  extern "C" __global__ void name(Side *sides, int *wrong, long long rounds) {                   \
    __shared__ int message[32], got[32];                                                         \
    const int me = blockIdx.x, lane = threadIdx.x;                                               \
    Side *ping_own = sides + me, *ping_peer = sides + 1 - me;                                    \
    Side *pong_own = sides + 2 + me, *pong_peer = sides + 3 - me;                                \
    for (long long round = 0; round < rounds; round++) {                                         \
      const int value = (int)round + lane;                                                       \
      if (me == 0) {                                                                             \
        if (lane < WORDS) message[lane] = value;                                                 \
        put(ping_own, ping_peer, message, lane);                                                 \
        get(pong_own, pong_peer, got, lane);                                                     \
      } else {                                                                                   \
        get(ping_own, ping_peer, got, lane);                                                     \
        if (lane < WORDS) message[lane] = value;                                                 \
        put(pong_own, pong_peer, message, lane);                                                 \
      }                                                                                          \
      if (lane < WORDS && got[lane] != value) atomicAdd(wrong, 1);                               \
    }                                                                                            \
  }
CHANNEL_ROUND_TRIPS(line_channel, line_put, line_get)
CHANNEL_ROUND_TRIPS(ordered_channel, ordered_put, ordered_get)
