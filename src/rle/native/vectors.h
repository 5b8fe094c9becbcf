// Numbers side by side, as many as a register of this machine holds.

#pragma once

#include <cstdint>

#if defined(__AVX512F__)
constexpr int LANES = 16, WIDE = 4;
#elif defined(__AVX__)
constexpr int LANES = 8, WIDE = 2;
#else
constexpr int LANES = 4, WIDE = 2;
#endif

typedef float Vec __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int32_t Mask __attribute__((vector_size(4 * LANES), aligned(4)));

inline Vec &vec(float *p) { return *reinterpret_cast<Vec *>(p); }
inline const Vec &vec(const float *p) { return *reinterpret_cast<const Vec *>(p); }

// A row's length in whole vectors.
inline int padded(int size) { return (size + LANES - 1) / LANES * LANES; }

inline Vec where(Mask mask, Vec yes, Vec no) { return mask ? yes : no; }
