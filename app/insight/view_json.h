#pragma once

#include "ui/insight/values.h"

#include <QJsonObject>

namespace vitrine {

// What the insight dock has been set to, without the word and the patch it shows.
QJsonObject jsonOf(const InsightView& view);
InsightView viewFrom(const QJsonObject& json);  // what is missing or unknown: as it is by default

}  // namespace vitrine
