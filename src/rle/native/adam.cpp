// A step of Adam on a clipped gradient, as rle.learn.adam says it, in one pass over the parameters.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "vectors.h"

static float norm_of(const float *gradient, int64_t size) {
    Vec sums[4] = {};
    int64_t i = 0;
    for (; i + 4 * LANES <= size; i += 4 * LANES)
        for (int s = 0; s < 4; ++s) sums[s] += vec(gradient + i + s * LANES) * vec(gradient + i + s * LANES);
    float lanes[LANES];
    vec(lanes) = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    double total = 0;
    for (float lane : lanes) total += lane;
    for (; i < size; ++i) total += gradient[i] * gradient[i];
    return float(std::sqrt(total));
}

// Changes `flat`, `first` and `second`; returns the gradient's norm before it is clipped.
extern "C" float clipped_adam_step(float *flat, const float *gradient, float *first, float *second, int64_t size,
                                   float first_rate, float second_rate, float epsilon, float max_norm, float first_kept,
                                   float second_kept) {
    float norm = norm_of(gradient, size), limit = max_norm / (norm + 1e-6f);
    // `limit > 1`, not `limit < 1`: what is not a number stays so.
    float scale = limit > 1 ? 1.f : limit;
    for (int64_t i = 0; i < size; ++i) {
        float pull = gradient[i] * scale;
        first[i] += (1 - first_kept) * (pull - first[i]);
        second[i] = second_kept * second[i] + (1 - second_kept) * pull * pull;
        flat[i] -= first_rate * first[i] / (std::sqrt(second[i]) * second_rate + epsilon);
    }
    return norm;
}
