// What an MLP makes of some observations, as an operator of PyTorch's: `rle::mlp`.
//
// A tile of observations goes through the layers turned round, an input or a unit a row, so that weights are
// taken as they are.

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include "mlp.h"

using torch::stable::Tensor;

constexpr int ACROSS = WIDE * LANES;  // Observations of a tile.

// `parameters` are the layers' weights and biases, one after the other; x is [B, inputs], the result [B, outputs].
static Tensor mlp(const Tensor &x, const Tensor &parameters, const std::vector<int64_t> &widths, int64_t activation) {
    const long batch = x.size(0), inputs = widths.front(), outputs = widths.back();
    const long widest = *std::max_element(widths.begin(), widths.end());
    Tensor result = torch::stable::new_empty(x, {batch, outputs});
    const float *seen = static_cast<const float *>(x.data_ptr());
    float *made = static_cast<float *>(result.data_ptr());
    std::vector<float> now(widest * ACROSS, 0), next(widest * ACROSS, 0);
    for (long first = 0; first < batch; first += ACROSS) {
        const long here = std::min<long>(ACROSS, batch - first);
        const int across = padded(int(here));
        for (long i = 0; i < inputs; ++i)
            for (long b = 0; b < here; ++b) now[i * ACROSS + b] = seen[(first + b) * inputs + i];
        const float *weights = static_cast<const float *>(parameters.data_ptr());
        for (size_t l = 1; l < widths.size(); ++l) {
            const long in = widths[l - 1], out = widths[l];
            const float *bias = weights + in * out;
            multiply(int(out), across, int(in), weights, in, 1, now.data(), ACROSS, next.data(), ACROSS, false);
            const bool last = l + 1 == widths.size();
            for (long o = 0; o < out; ++o)
                for (int b = 0; b < across; b += LANES) {
                    Vec &y = vec(&next[o * ACROSS + b]);
                    y = last ? y + bias[o] : activated(Activation(activation), y + bias[o]);
                }
            weights = bias + out;
            std::swap(now, next);
        }
        for (long b = 0; b < here; ++b)
            for (long o = 0; o < outputs; ++o) made[(first + b) * outputs + o] = now[o * ACROSS + b];
    }
    return result;
}

STABLE_TORCH_LIBRARY(rle, library) {
    library.def("mlp(Tensor x, Tensor parameters, int[] widths, int activation) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(rle, CPU, library) { library.impl("mlp", TORCH_BOX(&mlp)); }
