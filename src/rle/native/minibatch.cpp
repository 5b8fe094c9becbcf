// The gradient of one PPO minibatch for a policy and a value MLP: gathered, computed forward, judged and
// computed backward tile by tile, so that what the layers make of a tile never leaves the cache.
//
// It is what rle.learn.loss and rle.nets say, and the tests hold it to autograd's gradient of them. Every
// sum has one order: the same numbers come out of the same numbers.

#include "mlp.h"

// What Python hands over; rle/learn/fused.py has the same, field by field.
struct Minibatch {
    const float *parameters;
    float *gradient;    // [P], overwritten
    float *statistics;  // [heads + 4]
    Network policy, value;
    Inputs inputs;
    int32_t activation, continuous, normalise, clip_value, heads, action_size;
    int64_t log_std_at;  // among the parameters, if actions are continuous
    float clip, entropy;
    const float *weights;   // of the value heads' losses
    const int64_t *chosen;  // actions [B], or
    const float *moved;     // [B, action_size]
    const float *log_probability, *values, *advantage, *returns;
    const uint8_t *real;  // [B], or none: all are
    const int64_t *index;
    int64_t size;
};

struct Told {
    double policy = 0, entropy = 0, kl = 0, clipped = 0;
};

// Of one transition: how log π(a|s) moves the clipped policy loss.
static float surrogate(const Minibatch &m, float log_probability, int64_t i, float advantage, Told &told) {
    float log_ratio = log_probability - m.log_probability[i], ratio = std::exp(log_ratio);
    float bounded = std::min(std::max(ratio, 1 - m.clip), 1 + m.clip);
    float free = -advantage * ratio, held = -advantage * bounded;
    // Of what is not a number no comparison is true: it stays so.
    told.policy += free < held ? held : free;
    told.kl += ratio - 1 - log_ratio;
    told.clipped += std::abs(ratio - 1) > m.clip;
    return free < held ? 0 : free;
}

// Logits [actions] of one transition to the loss's gradient with respect to them.
static void choice(const Minibatch &m, const float *logits, float *delta, int64_t i, float advantage, float share, Told &told) {
    float highest = logits[0], sum = 0, entropy = 0;
    for (int j = 1; j < m.action_size; ++j) highest = std::max(highest, logits[j]);
    for (int j = 0; j < m.action_size; ++j) sum += delta[j] = std::exp(logits[j] - highest);
    float normaliser = highest + std::log(sum);
    for (int j = 0; j < m.action_size; ++j) entropy -= (delta[j] /= sum) * (logits[j] - normaliser);
    int64_t taken = m.chosen[i];
    float pull = surrogate(m, logits[taken] - normaliser, i, advantage, told);
    for (int j = 0; j < m.action_size; ++j) {
        float of_entropy = -delta[j] * (logits[j] - normaliser + entropy);
        delta[j] = share * (pull * ((j == taken) - delta[j]) - m.entropy * of_entropy);
    }
    told.entropy += entropy;
}

// The same of means [actions]; what log-deviations do to the loss is added to `of_log_std`.
static void move(const Minibatch &m, const float *mean, float *delta, int64_t i, float advantage, float share, Told &told,
                 std::vector<double> &of_log_std) {
    const float *log_std = m.parameters + m.log_std_at, *action = m.moved + i * m.action_size;
    float log_probability = 0, entropy = 0;
    for (int j = 0; j < m.action_size; ++j) {
        float standard = (action[j] - mean[j]) / std::exp(log_std[j]);
        log_probability += -0.5f * standard * standard - log_std[j] - 0.918938533204672742f;  // ln(2 pi) / 2
        entropy += log_std[j] + 1.418938533204672742f;                                       // ln(2 pi e) / 2
    }
    float pull = surrogate(m, log_probability, i, advantage, told);
    for (int j = 0; j < m.action_size; ++j) {
        float deviation = std::exp(log_std[j]), standard = (action[j] - mean[j]) / deviation;
        delta[j] = share * pull * standard / deviation;
        of_log_std[j] += share * (pull * (standard * standard - 1) - m.entropy);
    }
    told.entropy += entropy;
}

// Values [heads] of one transition; the task's is clipped, as the policy is.
static void judge(const Minibatch &m, const float *value, float *delta, int64_t i, float share, double *losses) {
    for (int k = 0; k < m.heads; ++k) {
        float target = m.returns[i * m.heads + k], error = value[k] - target, square = error * error;
        delta[k] = share * m.weights[k] * error;
        if (k == 0 && m.clip_value) {
            float old = m.values[i * m.heads], change = value[0] - old;
            float held = old + std::min(std::max(change, -m.clip), m.clip) - target;
            if (std::abs(change) > m.clip && square < held * held) {
                square = held * held;
                delta[k] = 0;
            }
        }
        losses[k] += 0.5 * square;
    }
}

// Advantages of the minibatch with mean 0 and deviation 1 over its real transitions.
static std::vector<float> normalised(const Minibatch &m, const std::vector<uint8_t> &counts, double total) {
    std::vector<float> result(m.size);
    double mean = 0, variance = 0;
    for (int64_t r = 0; r < m.size; ++r) mean += counts[r] ? m.advantage[m.index[r]] : 0.f;
    mean /= total;
    for (int64_t r = 0; r < m.size; ++r) {
        double distance = m.advantage[m.index[r]] - mean;
        variance += counts[r] ? distance * distance : 0;
    }
    double deviation = std::sqrt(variance / std::max(total - 1, 1.0)) + 1e-8;
    for (int64_t r = 0; r < m.size; ++r) result[r] = float((m.advantage[m.index[r]] - mean) / deviation);
    return result;
}

extern "C" void minibatch_gradient(const Minibatch *given) {
    const Minibatch &m = *given;
    std::vector<uint8_t> counts(m.size, 1);
    double total = double(m.size);
    if (m.real) {
        total = 0;
        for (int64_t r = 0; r < m.size; ++r) total += counts[r] = m.real[m.index[r]] != 0;
        total = std::max(total, 1.0);
    }
    float share = float(1 / total);
    std::vector<float> advantage;
    if (m.normalise) advantage = normalised(m, counts, total);
    std::vector<double> of_log_std(m.continuous ? m.action_size : 0, 0);
    std::vector<double> losses(m.heads, 0);
    Told told;

    const Activation activation = Activation(m.activation);
    Mlp policy(m.policy, m.inputs, activation, m.parameters);
    for (int64_t first = 0; first < m.size; first += TILE) {
        int rows = int(std::min<int64_t>(TILE, m.size - first));
        const int64_t *index = m.index + first;
        const float *output = policy.forward(index, rows);
        int stride = policy.layers.back().outp;
        std::fill_n(policy.delta.begin(), long(rows) * stride, 0.f);
        for (int r = 0; r < rows; ++r) {
            if (!counts[first + r]) continue;
            float of_row = m.normalise ? advantage[first + r] : m.advantage[index[r]];
            const float *row = output + long(r) * stride;
            float *delta = &policy.delta[long(r) * stride];
            if (m.continuous)
                move(m, row, delta, index[r], of_row, share, told, of_log_std);
            else
                choice(m, row, delta, index[r], of_row, share, told);
        }
        policy.backward(index, rows);
    }
    policy.write(m.gradient);
    for (size_t j = 0; j < of_log_std.size(); ++j) m.gradient[m.log_std_at + j] = float(of_log_std[j]);

    Mlp value(m.value, m.inputs, activation, m.parameters);
    for (int64_t first = 0; first < m.size; first += TILE) {
        int rows = int(std::min<int64_t>(TILE, m.size - first));
        const int64_t *index = m.index + first;
        const float *output = value.forward(index, rows);
        int stride = value.layers.back().outp;
        std::fill_n(value.delta.begin(), long(rows) * stride, 0.f);
        for (int r = 0; r < rows; ++r)
            if (counts[first + r])
                judge(m, output + long(r) * stride, &value.delta[long(r) * stride], index[r], share, losses.data());
        value.backward(index, rows);
    }
    value.write(m.gradient);

    for (int k = 0; k < m.heads; ++k) m.statistics[k] = float(losses[k] / total);
    const double sums[] = {told.policy, told.entropy, told.kl, told.clipped};
    for (int s = 0; s < 4; ++s) m.statistics[m.heads + s] = float(sums[s] / total);
}
