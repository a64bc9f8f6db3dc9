#include "core/captions/record.h"

#include <array>
#include <ctime>

namespace vitrine::captions {

std::string utc_time(std::chrono::system_clock::time_point time) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 32> text{};
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string tidy_caption(std::string text) {
    std::string tidy;
    tidy.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\r') {
            tidy += text[i];
        } else if (i + 1 == text.size() || text[i + 1] != '\n') {
            tidy += '\n';
        }
    }
    constexpr const char* space = " \t\n\v\f";
    tidy.erase(tidy.find_last_not_of(space) + 1);  // npos + 1 is 0
    tidy.erase(0, tidy.find_first_not_of(space));
    return tidy;
}

}  // namespace vitrine::captions
