#pragma once

#include <string>
#include <string_view>
#include <vector>

// Comma-separated values as RFC 4180 has them, with formulas disarmed. Any thread.
namespace vitrine::captions {

// One quoted field. A text that a spreadsheet would run as a formula gets an apostrophe in front; parse_csv takes it
// away again.
std::string csv_field(std::string_view text);
std::string csv_row(const std::vector<std::string>& fields);  // with its LF

struct CsvTable {
    std::vector<std::vector<std::string>> rows;  // blank lines left out
    bool open_quote = false;                     // the text ends inside a field: it was cut
};
CsvTable parse_csv(std::string_view text);

}  // namespace vitrine::captions
