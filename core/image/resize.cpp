#include "core/image/preprocess.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// Bicubic resampling to the bit as Pillow 13 does it. The rounding is part of the definition: one pass along each side,
// the result of the first rounded to 8 bits, weights as integers with 22 fractional bits.
namespace vitrine {
namespace {

constexpr int fraction_bits = 22;
constexpr int channels = 3;
// The horizontal pass works on blocks of eight pixels: 24 sums, a whole number of vectors and of pixels.
constexpr int block_pixels = 8;
constexpr int block_samples = block_pixels * channels;

// The inner loops are plain and the compiler vectorises them; this compiles them for newer processors as well.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define VITRINE_VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VITRINE_VECTORISED
#endif

// Keys' cubic with a = -0.5.
double bicubic(double x) {
    constexpr double a = -0.5;
    x = std::abs(x);
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
    return 0.0;
}

// For every output position: the first input position that counts, how many do, and their weights.
struct Taps {
    std::vector<int> first;
    std::vector<int> count;
    std::vector<std::int32_t> weights;  // [output, stride], zero behind count
    int stride = 0;
};

Taps make_taps(int input, int output) {
    const double scale = static_cast<double>(input) / output;
    const double stretch = std::max(scale, 1.0);  // antialias: the filter widens when the picture shrinks
    const double support = 2.0 * stretch;
    Taps taps;
    taps.stride = static_cast<int>(std::ceil(support)) * 2 + 1;
    taps.weights.resize(static_cast<std::size_t>(output) * static_cast<std::size_t>(taps.stride));
    std::vector<double> exact(static_cast<std::size_t>(taps.stride));
    for (int i = 0; i < output; ++i) {
        const double centre = (i + 0.5) * scale;
        const int first = std::max(static_cast<int>(centre - support + 0.5), 0);
        const int count = std::min(static_cast<int>(centre + support + 0.5), input) - first;
        // Multiplying by the reciprocal matters for the last bit.
        const double shrink = 1.0 / stretch;
        double sum = 0.0;
        for (int k = 0; k < count; ++k)
            sum += exact[static_cast<std::size_t>(k)] = bicubic((k + first - centre + 0.5) * shrink);
        std::int32_t* weights = taps.weights.data() + static_cast<std::ptrdiff_t>(i) * taps.stride;
        for (int k = 0; k < count; ++k) {
            const double weight =
                (sum != 0.0 ? exact[static_cast<std::size_t>(k)] / sum : exact[static_cast<std::size_t>(k)]) *
                (1 << fraction_bits);
            weights[k] = static_cast<std::int32_t>(weight + (weight < 0.0 ? -0.5 : 0.5));
        }
        taps.first.push_back(first);
        taps.count.push_back(count);
    }
    return taps;
}

inline std::uint8_t to_byte(std::int32_t sum) {
    return static_cast<std::uint8_t>(std::clamp(sum >> fraction_bits, 0, 255));
}

constexpr std::int32_t half = 1 << (fraction_bits - 1);

// One row. `weights` holds, for every output position, `blocks` blocks of weights, each repeated for the three
// channels; `row` must be readable up to a block behind its end.
VITRINE_VECTORISED
void resample_row(const std::uint8_t* row, const int* first, const std::int32_t* weights, int blocks, int width,
                  std::uint8_t* out) {
    for (int x = 0; x < width; ++x, out += channels) {
        std::int32_t sums[block_samples] = {};
        const std::uint8_t* from = row + static_cast<std::ptrdiff_t>(first[x]) * channels;
        for (int b = 0; b < blocks; ++b, from += block_samples, weights += block_samples) {
            for (int i = 0; i < block_samples; ++i) sums[i] += from[i] * weights[i];
        }
        // Written out, for the compiler would turn a loop over every third sum into shuffles.
        for (int c = 0; c < channels; ++c) {
            const std::int32_t* of = sums + c;
            out[c] = to_byte(half + of[0] + of[3] + of[6] + of[9] + of[12] + of[15] + of[18] + of[21]);
        }
    }
}

VITRINE_VECTORISED
void add_row(const std::uint8_t* row, std::int32_t weight, std::int32_t* sums, std::size_t samples) {
    for (std::size_t i = 0; i < samples; ++i) sums[i] += row[i] * weight;
}

std::vector<std::uint8_t> resize_width(const std::vector<std::uint8_t>& rgb, int input, int rows, int output) {
    const Taps taps = make_taps(input, output);
    // A tap may not start so late that its blocks leave the padded row, nor need a block more than the longest one.
    const int blocks = (*std::max_element(taps.count.begin(), taps.count.end()) + block_pixels - 1) / block_pixels;
    std::vector<std::int32_t> weights(static_cast<std::size_t>(output) *
                                      static_cast<std::size_t>(blocks * block_samples));
    for (int x = 0; x < output; ++x) {
        for (int k = 0; k < taps.count[static_cast<std::size_t>(x)]; ++k) {
            const std::int32_t weight =
                taps.weights[static_cast<std::size_t>(x) * static_cast<std::size_t>(taps.stride) +
                             static_cast<std::size_t>(k)];
            std::fill_n(weights.data() + static_cast<std::ptrdiff_t>(x) * blocks * block_samples + k * channels,
                        channels, weight);
        }
    }
    const std::size_t row_bytes = static_cast<std::size_t>(input) * channels;
    std::vector<std::uint8_t> padded(row_bytes + static_cast<std::size_t>(blocks * block_samples));
    std::vector<std::uint8_t> out(static_cast<std::size_t>(output) * static_cast<std::size_t>(rows) * channels);
    for (int y = 0; y < rows; ++y) {
        std::copy_n(rgb.data() + static_cast<std::size_t>(y) * row_bytes, row_bytes, padded.data());
        resample_row(padded.data(), taps.first.data(), weights.data(), blocks, output,
                     out.data() + static_cast<std::ptrdiff_t>(y) * output * channels);
    }
    return out;
}

std::vector<std::uint8_t> resize_height(const std::vector<std::uint8_t>& rgb, int width, int input, int output) {
    const Taps taps = make_taps(input, output);
    const std::size_t samples = static_cast<std::size_t>(width) * channels;
    std::vector<std::int32_t> sums(samples);
    std::vector<std::uint8_t> out(samples * static_cast<std::size_t>(output));
    for (std::size_t y = 0; y < static_cast<std::size_t>(output); ++y) {
        std::fill(sums.begin(), sums.end(), half);
        for (int k = 0; k < taps.count[y]; ++k) {
            add_row(rgb.data() + samples * static_cast<std::size_t>(taps.first[y] + k),
                    taps.weights[y * static_cast<std::size_t>(taps.stride) + static_cast<std::size_t>(k)], sums.data(),
                    samples);
        }
        std::transform(sums.begin(), sums.end(), out.begin() + static_cast<std::ptrdiff_t>(samples * y), to_byte);
    }
    return out;
}

}  // namespace

Image resize_bicubic(const Image& image, int width, int height) {
    Image resized{width, height, {}, image.format, image.notes};
    // The width goes first, unless the height loses more than twice the pixels: Pillow's rule since version 13.
    const bool height_first = image.height > height && image.height - height > 2 * (image.width - width);
    int current_width = image.width;
    int current_height = image.height;
    const std::vector<std::uint8_t>* current = &image.rgb;
    for (const bool vertical : {height_first, !height_first}) {
        if (vertical && current_height != height) {
            resized.rgb = resize_height(*current, current_width, current_height, height);
            current_height = height;
        } else if (!vertical && current_width != width) {
            resized.rgb = resize_width(*current, current_width, current_height, width);
            current_width = width;
        } else {
            continue;  // a pass that changes nothing is left out
        }
        current = &resized.rgb;
    }
    if (current == &image.rgb) resized.rgb = image.rgb;
    return resized;
}

}  // namespace vitrine
