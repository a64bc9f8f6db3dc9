#include "core/captions/csv.h"

#include <utility>

namespace vitrine::captions {
namespace {

// Apostrophes, then what makes a formula. One apostrophe more on the way out, one less on the way in, so that texts
// that begin like that themselves come back as they were.
bool is_formula(std::string_view text) {
    const std::size_t first = text.find_first_not_of('\'');
    return first != text.npos && std::string_view("=+-@\t\r").find(text[first]) != std::string_view::npos;
}

}  // namespace

std::string csv_field(std::string_view text) {
    std::string field = "\"";
    if (is_formula(text)) field += '\'';
    for (const char c : text) field.append(c == '"' ? 2 : 1, c);
    return field + '"';
}

std::string csv_row(const std::vector<std::string>& fields) {
    std::string row;
    for (const std::string& field : fields) row.append(row.empty() ? "" : ",").append(csv_field(field));
    return row + '\n';
}

CsvTable parse_csv(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    CsvTable table;
    std::vector<std::string> row;
    std::string field;
    bool quoted = false;
    const auto end_field = [&] {
        if (field.starts_with('\'') && is_formula(field)) field.erase(0, 1);
        row.push_back(std::exchange(field, {}));
    };
    const auto end_row = [&] {
        end_field();
        if (row.size() > 1 || !row.front().empty()) table.rows.push_back(std::move(row));
        row.clear();
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool doubled = i + 1 < text.size() && text[i + 1] == '"';
        if (c == '"') {
            if (quoted && doubled)
                field += text[++i];
            else
                quoted = !quoted;
        } else if (quoted) {
            field += c;
        } else if (c == ',') {
            end_field();
        } else if (c == '\n') {
            end_row();
        } else if (c != '\r') {
            field += c;
        }
    }
    if (!field.empty() || !row.empty()) end_row();
    table.open_quote = quoted;
    return table;
}

}  // namespace vitrine::captions
