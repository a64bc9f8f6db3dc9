#pragma once

#include "core/insight/past.h"
#include "core/model/vlm.h"
#include "core/text/chat_template.h"

#include <memory>
#include <string>

namespace vitrine {

// What the engine gives a recording when an answer begins.
struct RecordingParts {
    std::shared_ptr<const VisionLanguageModel> model;
    std::shared_ptr<const Past> past;  // with queries from the first position on
    Prompt prompt;
    Prompt neutral;  // the same pictures with the last question replaced by neutral_text
    std::string neutral_text;
    std::string question;
};

}  // namespace vitrine
