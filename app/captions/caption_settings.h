#pragma once

#include "ui/captions/values.h"

#include <QJsonObject>

#include <string>
#include <utility>
#include <vector>

// What a person sets on the captions page, as the settings file keeps it.
namespace vitrine {

QJsonObject toJson(const CaptionSettings& settings);
// What is absent or out of range keeps its default.
CaptionSettings captionSettingsFrom(const QJsonObject& json);

// The built-in presets, each as the model words it where it has a preset of that name, then the model's others.
QList<CaptionPreset> captionPresets(const std::vector<std::pair<std::string, std::string>>& ofModel);
// With the prompt of the first preset.
CaptionSettings defaultCaptionSettings(const QList<CaptionPreset>& presets);

}  // namespace vitrine
