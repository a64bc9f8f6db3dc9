#pragma once

#include "core/types.h"

#include <memory>

namespace vitrine::test {

// A small picture of one colour.
inline ImagePtr flat_picture(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
    Image image{.width = 40, .height = 30};
    for (int i = 0; i < image.width * image.height; ++i) image.rgb.insert(image.rgb.end(), {red, green, blue});
    return std::make_shared<const Image>(std::move(image));
}

}  // namespace vitrine::test
