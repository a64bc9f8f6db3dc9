#include "core/generate/stop.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace vitrine {
namespace {

bool well_formed_utf8(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const auto lead = static_cast<unsigned char>(text[at]);
        const std::size_t length = lead < 0x80   ? 1
                                   : lead < 0xC2 ? 0
                                   : lead < 0xE0 ? 2
                                   : lead < 0xF0 ? 3
                                   : lead < 0xF5 ? 4
                                                 : 0;
        if (length == 0 || at + length > text.size()) return false;
        std::uint32_t code = length == 1 ? lead : lead & (0xFFU >> (length + 1));
        for (std::size_t i = 1; i < length; ++i) {
            const auto byte = static_cast<unsigned char>(text[at + i]);
            if ((byte & 0xC0U) != 0x80U) return false;
            code = code << 6U | (byte & 0x3FU);
        }
        const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
        const bool surrogate = code >= 0xD800 && code < 0xE000;
        if (overlong || surrogate || code > 0x10FFFF) return false;
        at += length;
    }
    return true;
}

}  // namespace

StopStrings::Pattern::Pattern(std::string stop) : text(std::move(stop)), fallback(text.size() + 1, 0) {
    std::size_t border = 0;
    for (std::size_t i = 1; i < text.size(); ++i) {
        while (border > 0 && text[i] != text[border]) border = fallback[border];
        if (text[i] == text[border]) ++border;
        fallback[i + 1] = border;
    }
}

bool StopStrings::Pattern::advance(char byte) {
    while (state > 0 && text[state] != byte) state = fallback[state];
    if (text[state] == byte) ++state;
    return state == text.size();
}

StopStrings::StopStrings(std::vector<std::string> stops) {
    patterns_.reserve(stops.size());
    for (std::string& stop : stops) {
        if (stop.empty() || !well_formed_utf8(stop)) {
            throw OptionError({.name = "stop",
                               .where = {},
                               .expected = "non-empty UTF-8 text",
                               .found = stop.empty() ? "an empty string" : "bytes that are not UTF-8",
                               .advice = "Leave the stop string out, or give it some text."});
        }
        patterns_.emplace_back(std::move(stop));
    }
}

std::string StopStrings::push(std::string_view text) {
    if (matched_) return {};
    for (std::size_t i = 0; i < text.size(); ++i) {
        const Pattern* complete = nullptr;
        for (Pattern& pattern : patterns_) {
            if (pattern.advance(text[i]) && (!complete || pattern.text.size() > complete->text.size()))
                complete = &pattern;
        }
        if (complete) {
            matched_ = complete->text;
            held_.append(text.substr(0, i + 1));
            held_.resize(held_.size() - matched_->size());
            return std::exchange(held_, {});
        }
    }
    std::size_t open = 0;  // the longest beginning of a stop string that the text ends with
    for (const Pattern& pattern : patterns_) open = std::max(open, pattern.state);
    held_.append(text);
    std::string shown = held_.substr(0, held_.size() - open);
    held_.erase(0, shown.size());
    return shown;
}

std::string StopStrings::flush() {
    for (Pattern& pattern : patterns_) pattern.state = 0;
    return std::exchange(held_, {});
}

LoopDetector::LoopDetector(std::size_t max_period) : run_(max_period, 0) {}

std::optional<LoopDetector::Cycle> LoopDetector::push(TokenId id) {
    std::optional<Cycle> cycle;
    const std::size_t seen = ids_.size();
    for (std::size_t period = 1; period <= std::min(run_.size(), seen); ++period) {
        std::size_t& run = run_[period - 1];
        run = ids_[seen - period] == id ? run + 1 : 0;
        const std::size_t covered = run + period;
        if (!cycle && covered >= std::max(kMinTokens, kMinRepeats * period)) {
            cycle = Cycle{.period = period, .repeats = covered / period};
        }
    }
    ids_.push_back(id);
    return cycle;
}

}  // namespace vitrine
