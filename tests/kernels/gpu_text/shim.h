// A CPU in place of a GPU for the generated kernels: the words of CUDA that their text uses, and nothing else.
#include <cstdint>
#define __global__
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

struct alignas(16) uint4 { unsigned x, y, z, w; };
struct Place { unsigned x, y; };
static thread_local Place threadIdx, blockIdx, blockDim, gridDim;

static thread_local unsigned long misaligned;  // vector accesses that a GPU would refuse
extern "C" unsigned long misaligned_accesses() { return misaligned; }

// PTX prmt.b32 in its default mode, the replicated sign included.
static inline unsigned prmt(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long both = (unsigned long long)b << 32 | a;
  unsigned picked = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned nibble = selector >> 4 * i & 15;
    unsigned byte = both >> 8 * (nibble & 7) & 255;
    if (nibble & 8) byte = byte & 128 ? 255 : 0;
    picked |= byte << 8 * i;
  }
  return picked;
}

static inline uint4 __ldcs(const uint4* p) {
  if ((uintptr_t)p % 16) ++misaligned;
  uint4 value;
  __builtin_memcpy(&value, p, 16);
  return value;
}
static inline void __stcs(uint4* p, uint4 value) {
  if ((uintptr_t)p % 16) ++misaligned;
  __builtin_memcpy(p, &value, 16);
}

template <class Kernel> static void launch(unsigned across, unsigned down, unsigned threads, Kernel kernel) {
  gridDim = {across, down};
  blockDim = {threads, 1};
  for (blockIdx.y = 0; blockIdx.y < down; ++blockIdx.y)
    for (blockIdx.x = 0; blockIdx.x < across; ++blockIdx.x)
      for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) kernel();
}
