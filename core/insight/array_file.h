#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Arrays of numbers as numpy reads them, without pickled objects: little-endian float32 in C order.
namespace vitrine {

struct ArrayView {
    std::string name;                 // in an NPZ file
    std::vector<std::int64_t> shape;  // empty: a single number
    std::span<const float> values;
};

// An NPY file, format 1.0. The format has no place for words, but readers stop behind the last number: `words` is put
// there. Throws InputError when the shape does not fit the values.
std::string npy_bytes(const ArrayView& array, std::string_view words = {});

// An NPZ file: a zip archive, not compressed, with NAME.npy for each array and, where `provenance` is not empty, that
// JSON text as provenance.json, which numpy.load(...)["provenance.json"] gives as bytes. The same input makes the same
// bytes. Throws InputError when two names are the same, one could lead out of the archive, or it would exceed 4 GiB.
std::string npz_bytes(std::span<const ArrayView> arrays, std::string_view provenance = {});

}  // namespace vitrine
