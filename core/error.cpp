#include "core/error.h"

#include <utility>

namespace vitrine {
namespace {

std::string join(const ErrorParts& parts) {
    std::string text;
    for (const std::string* part : {&parts.where, &parts.name}) {
        if (!part->empty()) text += (text.empty() ? "" : ": ") + *part;
    }
    std::string verdict;
    if (!parts.expected.empty()) verdict = "expected " + parts.expected;
    if (!parts.found.empty()) verdict += (verdict.empty() ? "found " : ", found ") + parts.found;
    if (!verdict.empty()) text += (text.empty() ? "" : ": ") + verdict;
    if (!parts.advice.empty()) text += (text.empty() ? "" : ". ") + parts.advice;
    return text;
}

}  // namespace

Error::Error(ErrorParts parts) : std::runtime_error(join(parts)), parts_(std::move(parts)) {}

}  // namespace vitrine
