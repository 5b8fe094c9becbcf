// Products of small matrices, row by row. Strides say how far apart their rows are.

#pragma once

#include "vectors.h"

// Rows of a block, which has WIDE vectors: as many sums as there are registers for.
constexpr int TALL = 6;

// C[ROWS, VECS vectors] (+)= A B over `inner`; element (m, k) of A is a[m * a_row + k * a_step].
template <int ROWS, int VECS>
inline void block(int inner, const float *a, long a_row, long a_step, const float *b, long b_row, float *c, long c_row,
                  bool add) {
    Vec sum[ROWS][VECS];
    for (int m = 0; m < ROWS; ++m)
        for (int v = 0; v < VECS; ++v) sum[m][v] = add ? vec(c + m * c_row + v * LANES) : Vec{};
    for (int k = 0; k < inner; ++k) {
        Vec row[VECS];
        for (int v = 0; v < VECS; ++v) row[v] = vec(b + k * b_row + v * LANES);
        for (int m = 0; m < ROWS; ++m)
            for (int v = 0; v < VECS; ++v) sum[m][v] += a[m * a_row + k * a_step] * row[v];
    }
    for (int m = 0; m < ROWS; ++m)
        for (int v = 0; v < VECS; ++v) vec(c + m * c_row + v * LANES) = sum[m][v];
}

// The same of `rows` rows, the last of them in a block of as many as are left.
template <int ROWS, int VECS>
inline void rest(int rows, int inner, const float *a, long a_row, long a_step, const float *b, long b_row, float *c,
                 long c_row, bool add) {
    if (rows == ROWS) return block<ROWS, VECS>(inner, a, a_row, a_step, b, b_row, c, c_row, add);
    if constexpr (ROWS > 1) rest<ROWS - 1, VECS>(rows, inner, a, a_row, a_step, b, b_row, c, c_row, add);
}

template <int VECS>
inline void strip(int rows, int inner, const float *a, long a_row, long a_step, const float *b, long b_row, float *c,
                  long c_row, bool add) {
    for (; rows >= TALL; rows -= TALL, a += TALL * a_row, c += TALL * c_row)
        block<TALL, VECS>(inner, a, a_row, a_step, b, b_row, c, c_row, add);
    rest<TALL - 1, VECS>(rows, inner, a, a_row, a_step, b, b_row, c, c_row, add);
}

// C[rows, columns] (+)= A[rows, inner] B[inner, columns], `columns` a multiple of LANES.
inline void multiply(int rows, int columns, int inner, const float *a, long a_row, long a_step, const float *b,
                     long b_row, float *c, long c_row, bool add) {
    int n = 0;
    for (; n + WIDE * LANES <= columns; n += WIDE * LANES)
        strip<WIDE>(rows, inner, a, a_row, a_step, b + n, b_row, c + n, c_row, add);
    for (; n < columns; n += LANES) strip<1>(rows, inner, a, a_row, a_step, b + n, b_row, c + n, c_row, add);
}
