#pragma once

#include <chrono>
#include <cstdint>
#include <string>

// A caption and where it comes from.
namespace vitrine::captions {

struct Provenance {
    std::string model;   // its name; empty where nobody knows
    std::string prompt;  // as the model was asked, variables filled in
    std::uint64_t seed = 0;
    std::string time;     // utc_time() of the last change
    std::string finish;   // name_of(FinishReason)
    bool edited = false;  // by hand, or found beside the picture
    bool operator==(const Provenance&) const = default;
};

struct Record {
    std::string file;  // the picture, as the table names it
    std::string caption;
    Provenance provenance;
};

// ISO 8601 to the second: "2025-03-01T09:30:00Z".
std::string utc_time(std::chrono::system_clock::time_point time = std::chrono::system_clock::now());

// Lines end in LF, and no white space stands around the text: as readers of data sets take captions.
std::string tidy_caption(std::string text);

}  // namespace vitrine::captions
