// An MLP that is computed forward and backward, tile by tile of a batch.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "products.h"

constexpr int TILE = 48;  // Transitions that go through the layers together: what they make fits the cache.

// ---- activations

enum Activation { TANH, RELU, ELU };

// The rational function that rle.nets.layers computes, good to 4e-7.
inline Vec tanh_of(Vec x) {
    const float most = 7.90531110763549805f;
    x = where(x > most, Vec{} + most, where(x < -most, Vec{} - most, x));
    Vec s = x * x;
    Vec n = s * -2.76076847742355e-16f + 2.00018790482477e-13f;
    n = n * s + -8.60467152213735e-11f;
    n = n * s + 5.12229709037114e-08f;
    n = n * s + 1.48572235717979e-05f;
    n = n * s + 6.37261928875436e-04f;
    n = n * s + 4.89352455891786e-03f;
    Vec d = s * 1.19825839466702e-06f + 1.18534705686654e-04f;
    d = d * s + 2.26843463243900e-03f;
    d = d * s + 4.89352518554385e-03f;
    return x * n / d;
}

inline Vec elu_of(Vec x) {
    Vec y = x;
    for (int i = 0; i < LANES; ++i) y[i] = x[i] > 0 ? x[i] : std::expm1(x[i]);
    return y;
}

inline Vec activated(Activation kind, Vec x) {
    if (kind == TANH) return tanh_of(x);
    // `x <= 0`, not `x > 0`: what is not a number stays so.
    if (kind == RELU) return where(x <= 0, Vec{}, x);
    return elu_of(x);
}

// The activation's derivative, from what it made.
inline Vec slope(Activation kind, Vec y) {
    if (kind == TANH) return 1 - y * y;
    if (kind == RELU) return where(y > 0, Vec{} + 1, Vec{});
    return where(y > 0, Vec{} + 1, y + 1);
}

// ---- what an MLP is, and what it sees; rle/learn/fused.py has the same, field by field

struct Network {
    int32_t layers;
    const int32_t *widths;     // [layers + 1], the inputs' first
    const int64_t *weight_at;  // where each output's weights begin among the parameters, layer after layer
    const int64_t *bias_at;    // and its bias
};

struct Inputs {
    int32_t observed, ones, beside;
    const float *observation;  // [B, observed], if `ones` is 0; else
    const int32_t *places;     // [B, ones], where the ones of each observation are
    const float *latent;       // [B, beside], or none
};

// ---- an MLP

struct Layer {
    int in, out, inp, outp;
    const int64_t *weight_at, *bias_at;
    std::vector<float> forward, backward;  // weights [in, outp] and [out, inp]
    std::vector<float> bias, of_weight, of_bias;
    bool by_places;
    std::vector<float> made;  // what it makes of a tile, [TILE, outp]

    // Where a weight stands in `forward`. Columns that are added up stand in strips of one vector's width, so
    // that those of a strip that are ever asked for fit the nearest cache.
    long place(int i, int o) const {
        return by_places ? long(o / LANES) * in * LANES + long(i) * LANES + o % LANES : long(i) * outp + o;
    }
};

class Mlp {
   public:
    std::vector<Layer> layers;
    std::vector<float> delta, other;

    Mlp(const Network &network, const Inputs &inputs, Activation activation, const float *parameters)
        : inputs(inputs), activation(activation) {
        const int64_t *weight_at = network.weight_at, *bias_at = network.bias_at;
        int widest = 0;
        for (int l = 0; l < network.layers; ++l) {
            int in = network.widths[l], out = network.widths[l + 1];
            Layer layer{in, out, padded(in), padded(out), weight_at, bias_at, {}, {}, {}, {}, {}, l == 0 && inputs.ones > 0, {}};
            weight_at += out;
            bias_at += out;
            layer.forward.assign(long(in) * layer.outp, 0);
            layer.bias.assign(layer.outp, 0);
            if (l > 0) layer.backward.assign(long(out) * layer.inp, 0);
            for (int o = 0; o < out; ++o) {
                const float *row = parameters + layer.weight_at[o];
                for (int i = 0; i < in; ++i) layer.forward[layer.place(i, o)] = row[i];
                if (l > 0) std::memcpy(&layer.backward[long(o) * layer.inp], row, in * sizeof(float));
                layer.bias[o] = parameters[layer.bias_at[o]];
            }
            layer.of_weight.assign(layer.by_places ? long(in) * layer.outp : long(out) * layer.inp, 0);
            layer.of_bias.assign(layer.outp, 0);
            layer.made.assign(long(TILE) * layer.outp, 0);
            widest = std::max({widest, layer.inp, layer.outp});
            layers.push_back(std::move(layer));
        }
        delta.assign(long(TILE) * widest, 0);
        other.assign(long(TILE) * widest, 0);
        input.assign(long(TILE) * layers[0].inp, 0);
    }

    // What the last layer makes of some transitions: [rows, outp].
    float *forward(const int64_t *index, int rows) {
        gather(index, rows);
        for (size_t l = 0; l < layers.size(); ++l) {
            Layer &layer = layers[l];
            if (layer.by_places)
                add_columns(layer, index, rows);
            else
                multiply(rows, layer.outp, layer.in, before(l), layer.inp, 1, layer.forward.data(), layer.outp,
                         layer.made.data(), layer.outp, false);
            bool last = l + 1 == layers.size();
            for (int r = 0; r < rows; ++r)
                for (int o = 0; o < layer.outp; o += LANES) {
                    Vec &y = vec(&layer.made[long(r) * layer.outp + o]);
                    Vec x = y + vec(&layer.bias[o]);
                    y = last ? x : activated(activation, x);
                }
        }
        return layers.back().made.data();
    }

    // Take in the loss's gradient with respect to what `forward` returned, which stands in `delta`.
    void backward(const int64_t *index, int rows) {
        for (int l = int(layers.size()) - 1; l >= 0; --l) {
            Layer &layer = layers[l];
            for (int r = 0; r < rows; ++r)
                for (int o = 0; o < layer.outp; o += LANES) vec(&layer.of_bias[o]) += vec(&delta[long(r) * layer.outp + o]);
            if (layer.by_places) return add_to_columns(layer, index, rows);
            multiply(layer.out, layer.inp, rows, delta.data(), 1, layer.outp, before(l), layer.inp, layer.of_weight.data(),
                     layer.inp, true);
            if (l == 0) return;
            multiply(rows, layer.inp, layer.out, delta.data(), layer.outp, 1, layer.backward.data(), layer.inp, other.data(),
                     layer.inp, false);
            const float *y = before(l);
            for (long i = 0; i < long(rows) * layer.inp; i += LANES)
                vec(&other[i]) *= slope(activation, vec(y + i));
            std::swap(delta, other);
        }
    }

    // Put the weights' and biases' gradients where the parameters are.
    void write(float *gradient) const {
        for (const Layer &layer : layers)
            for (int o = 0; o < layer.out; ++o) {
                float *row = gradient + layer.weight_at[o];
                if (layer.by_places)
                    for (int i = 0; i < layer.in; ++i) row[i] = layer.of_weight[layer.place(i, o)];
                else
                    std::memcpy(row, &layer.of_weight[long(o) * layer.inp], layer.in * sizeof(float));
                gradient[layer.bias_at[o]] = layer.of_bias[o];
            }
    }

   private:
    const Inputs inputs;
    const Activation activation;
    std::vector<float> input;  // observations and z of a tile, or z alone beside the places of ones

    const float *before(int l) const { return l ? layers[l - 1].made.data() : input.data(); }

    void gather(const int64_t *index, int rows) {
        int shown = inputs.ones ? 0 : inputs.observed;
        for (int r = 0; r < rows; ++r) {
            float *row = &input[long(r) * layers[0].inp];
            if (shown) std::memcpy(row, inputs.observation + index[r] * shown, shown * sizeof(float));
            if (inputs.beside) std::memcpy(row + shown, inputs.latent + index[r] * inputs.beside, inputs.beside * sizeof(float));
        }
    }

    // A first layer's product with observations that are a few ones among zeros, and with z beside them.
    void add_columns(Layer &layer, const int64_t *index, int rows) {
        for (int o = 0; o < layer.outp; o += LANES) {
            const float *strip = &layer.forward[long(o) * layer.in];
            multiply(rows, LANES, inputs.beside, input.data(), layer.inp, 1, strip + inputs.observed * LANES, LANES, &layer.made[o],
                     layer.outp, false);
            for (int r = 0; r < rows; ++r) {
                const int32_t *places = inputs.places + index[r] * inputs.ones;
                // Four sums, of every fourth column: one alone would wait for itself.
                Vec sums[4] = {};
                int p = 0;
                for (; p + 4 <= inputs.ones; p += 4)
                    for (int s = 0; s < 4; ++s) sums[s] += vec(strip + places[p + s] * LANES);
                for (; p < inputs.ones; ++p) sums[0] += vec(strip + places[p] * LANES);
                vec(&layer.made[long(r) * layer.outp + o]) += (sums[0] + sums[1]) + (sums[2] + sums[3]);
            }
        }
    }

    void add_to_columns(Layer &layer, const int64_t *index, int rows) {
        for (int o = 0; o < layer.outp; o += LANES) {
            float *strip = &layer.of_weight[long(o) * layer.in];
            multiply(inputs.beside, LANES, rows, input.data(), 1, layer.inp, &delta[o], layer.outp, strip + inputs.observed * LANES, LANES,
                     true);
            for (int r = 0; r < rows; ++r) {
                const int32_t *places = inputs.places + index[r] * inputs.ones;
                const Vec row = vec(&delta[long(r) * layer.outp + o]);
                for (int p = 0; p < inputs.ones; ++p) vec(strip + places[p] * LANES) += row;
            }
        }
    }
};
