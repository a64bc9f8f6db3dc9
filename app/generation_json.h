#pragma once

#include "core/types.h"

#include <QJsonObject>

namespace vitrine {

// Generation options in settings and stored chats. Reading takes `fallback` where a key is absent, of the wrong type or
// out of its range. The seed is text: JSON numbers end at 53 bits.
QJsonObject toJson(const GenerationOptions& options);
GenerationOptions generationFrom(const QJsonObject& json, const GenerationOptions& fallback);

}  // namespace vitrine
