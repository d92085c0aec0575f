// What every generated kernel stands on: arithmetic on words of field symbols, and access to shards. Only compiler
// built-ins are used, no header, no shared memory, no barrier, no warp intrinsic, so the same text compiles for a CPU.
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

// Bytes of a and b picked by the nibbles of a selector; a nibble's top bit replicates the sign of the byte it names. Not
// __byte_perm, which clears those top bits. And (x & mask) ^ d in one instruction, which no compiler is to take apart.
// A compiler for the host has neither instruction and brings its own prmt.
#ifdef __CUDA_ARCH__
__device__ __forceinline__ u32 prmt(u32 a, u32 b, u32 selector) {
  u32 picked;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(picked) : "r"(a), "r"(b), "r"(selector));
  return picked;
}
__device__ __forceinline__ u32 add_masked(u32 x, u32 mask, u32 d) {
  u32 sum;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(sum) : "r"(x), "r"(mask), "r"(d));
  return sum;
}
#else
__device__ __forceinline__ u32 add_masked(u32 x, u32 mask, u32 d) { return (x & mask) ^ d; }
#endif

// Every symbol becomes all ones where its top bit is set (one PRMT).
__device__ __forceinline__ u32 sign8(u32 x) { return prmt(x, 0u, 0xba98u); }
__device__ __forceinline__ u32 sign16(u32 x) { return prmt(x, 0u, 0xbb99u); }

// α q + d, α² q + d and α⁻¹ q + d over GF(2^8)/0x11d, four symbols in a word. Left shifts go to the multiply pipe.
__device__ __forceinline__ u32 up8(u32 q, u32 d) {
  return add_masked(sign8(q), 0x1d1d1d1du, add_masked(q * 2u, 0xfefefefeu, d));
}
__device__ __forceinline__ u32 up2_8(u32 q, u32 d) {
  return add_masked(sign8(q * 2u), 0x1d1d1d1du, add_masked(sign8(q), 0x3a3a3a3au, add_masked(q * 4u, 0xfcfcfcfcu, d)));
}
__device__ __forceinline__ u32 down8(u32 q, u32 d) {
  return add_masked(sign8(q * 128u), 0x8e8e8e8eu, add_masked(q >> 1, 0x7f7f7f7fu, d));
}

// The same over GF(2^16)/0x1100b, two symbols in a word.
__device__ __forceinline__ u32 up16(u32 q, u32 d) {
  return add_masked(sign16(q), 0x100b100bu, add_masked(q * 2u, 0xfffefffeu, d));
}
__device__ __forceinline__ u32 up2_16(u32 q, u32 d) {
  return add_masked(sign16(q * 2u), 0x100b100bu, add_masked(sign16(q), 0x20162016u, add_masked(q * 4u, 0xfffcfffcu, d)));
}
__device__ __forceinline__ u32 down16(u32 q, u32 d) {
  return add_masked(sign16(q * 32768u), 0x88058805u, add_masked(q >> 1, 0x7fff7fffu, d));
}

// One butterfly of the 8 x 8 bit transpose that turns eight words into eight bit planes, and back.
__device__ __forceinline__ void butterfly(u32& a, u32& b, u32 mask, int shift) {
  const u32 low = (a & mask) | ((b << shift) & ~mask);
  b = ((a >> shift) & mask) | (b & ~mask);
  a = low;
}

// Any linear map of bytes, looked up eight bits at a time as 3 + 3 + 2 (Plank's split tables, in registers): two words
// share a selector, so their bytes come out interleaved and are parted once at the end.
struct Index { u32 a, b, c; };
struct Pair { u32 low, high; };
__device__ __forceinline__ Index index_of(u32 w0, u32 w1) {
  const u32 a = (w0 & 0x0f0f0f0fu) | ((w1 * 16u) & 0xf0f0f0f0u);
  const u32 b = ((w0 >> 4) & 0x0f0f0f0fu) | (w1 & 0xf0f0f0f0u);
  const Index i = {a & 0x77777777u, b & 0x77777777u, ((a >> 3) & 0x11111111u) | ((b >> 2) & 0x22222222u)};
  return i;
}
__device__ __forceinline__ void add_map(Pair& sum, const uint4* map, Index i) {
  const uint4 m = map[0];
  const u32 last = map[1].x;
  sum.low ^= prmt(m.x, m.y, i.a) ^ prmt(m.z, m.w, i.b) ^ prmt(last, 0u, i.c);
  sum.high ^= prmt(m.x, m.y, i.a >> 16) ^ prmt(m.z, m.w, i.b >> 16) ^ prmt(last, 0u, i.c >> 16);
}
__device__ __forceinline__ u32 even_bytes(u32 x, u32 y) { return prmt(x, y, 0x6420u); }
__device__ __forceinline__ u32 odd_bytes(u32 x, u32 y) { return prmt(x, y, 0x7531u); }

__device__ __forceinline__ uint4 zero16() {
  const uint4 v = {0u, 0u, 0u, 0u};
  return v;
}
__device__ __forceinline__ uint4 add16(uint4 x, uint4 y) {
  const uint4 v = {x.x ^ y.x, x.y ^ y.y, x.z ^ y.z, x.w ^ y.w};
  return v;
}
__device__ __forceinline__ bool differ16(uint4 x, uint4 y) {
  return ((x.x ^ y.x) | (x.y ^ y.y) | (x.z ^ y.z) | (x.w ^ y.w)) != 0u;
}

// Aligned columns: 16 bytes at a time, read and written once, so marked for early eviction.
__device__ __forceinline__ uint4 load16(const u8* p) { return __ldcs((const uint4*)p); }
__device__ __forceinline__ void store16(u8* p, uint4 v) { __stcs((uint4*)p, v); }

// Anything else: 16 bytes symbol by symbol, neighbours in a warp on neighbouring symbols; zeros from the end on.
template <u32 SYMBOL>
__device__ __forceinline__ u32 gather4(const u8* p, u64 at, u64 end, u32 first) {
  u32 word = 0u;
#pragma unroll
  for (u32 e = 0u; e < 4u; ++e) {
    const u64 place = at + (first + e) / SYMBOL * (32u * SYMBOL) + e % SYMBOL;
    if (place < end) word |= (u32)p[place] << (8u * e);
  }
  return word;
}
template <u32 SYMBOL>
__device__ __forceinline__ uint4 gather16(const u8* p, u64 at, u64 end) {
  const uint4 v = {gather4<SYMBOL>(p, at, end, 0u), gather4<SYMBOL>(p, at, end, 4u), gather4<SYMBOL>(p, at, end, 8u),
                   gather4<SYMBOL>(p, at, end, 12u)};
  return v;
}
template <u32 SYMBOL>
__device__ __forceinline__ void scatter4(u8* p, u64 at, u64 end, u32 first, u32 word) {
#pragma unroll
  for (u32 e = 0u; e < 4u; ++e) {
    const u64 place = at + (first + e) / SYMBOL * (32u * SYMBOL) + e % SYMBOL;
    if (place < end) p[place] = (u8)(word >> (8u * e));
  }
}
template <u32 SYMBOL>
__device__ __forceinline__ void scatter16(u8* p, u64 at, u64 end, uint4 v) {
  scatter4<SYMBOL>(p, at, end, 0u, v.x);
  scatter4<SYMBOL>(p, at, end, 4u, v.y);
  scatter4<SYMBOL>(p, at, end, 8u, v.z);
  scatter4<SYMBOL>(p, at, end, 12u, v.w);
}
