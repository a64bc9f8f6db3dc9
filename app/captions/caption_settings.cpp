#include "app/captions/caption_settings.h"

#include "app/generation_json.h"
#include "app/names.h"
#include "core/captions/prompt.h"

#include <QCoreApplication>

#include <algorithm>

namespace vitrine {
namespace {

constexpr NameTable<CaptionPolicy, 4> kPolicies{{
    {CaptionPolicy::onlyMissing, QLatin1String("only missing")},
    {CaptionPolicy::replaceMachine, QLatin1String("replace machine")},
    {CaptionPolicy::allButEdited, QLatin1String("all but edited")},
    {CaptionPolicy::everything, QLatin1String("everything")},
}};

constexpr NameTable<SidecarKind, 3> kSidecars{{
    {SidecarKind::none, QLatin1String("none")},
    {SidecarKind::txt, QLatin1String("txt")},
    {SidecarKind::caption, QLatin1String("caption")},
}};

// What the built-in presets are called on the page.
QString shownName(const std::string& preset) {
    if (preset == "caption") return QCoreApplication::translate("CaptionPresets", "Caption");
    if (preset == "detailed") return QCoreApplication::translate("CaptionPresets", "Detailed");
    if (preset == "tags") return QCoreApplication::translate("CaptionPresets", "Tags");
    if (preset == "alt text") return QCoreApplication::translate("CaptionPresets", "Alt text");
    return QString::fromStdString(preset);
}

}  // namespace

QJsonObject toJson(const CaptionSettings& settings) {
    QJsonObject json = toJson(settings.generation);
    json.insert(QStringLiteral("preset"), settings.preset);
    json.insert(QStringLiteral("prompt"), settings.prompt);
    json.insert(QStringLiteral("length"), settings.length);
    json.insert(QStringLiteral("policy"), nameIn(kPolicies, settings.policy));
    json.insert(QStringLiteral("sidecar"), nameIn(kSidecars, settings.sidecar));
    return json;
}

CaptionSettings captionSettingsFrom(const QJsonObject& json) {
    CaptionSettings settings;
    settings.preset = json.value(QStringLiteral("preset")).toString();
    settings.prompt = json.value(QStringLiteral("prompt")).toString();
    const int length = json.value(QStringLiteral("length")).toInt();
    if (length >= 1 && length <= 10'000) settings.length = length;
    // To replace what people wrote is agreed to once, never remembered.
    settings.policy = valueIn(kPolicies, json.value(QStringLiteral("policy")).toString(), settings.policy);
    if (settings.policy == CaptionPolicy::everything) settings.policy = CaptionPolicy::allButEdited;
    settings.sidecar = valueIn(kSidecars, json.value(QStringLiteral("sidecar")).toString(), settings.sidecar);
    settings.generation = generationFrom(json, {.max_tokens = 128});
    return settings;
}

QList<CaptionPreset> captionPresets(const std::vector<std::pair<std::string, std::string>>& ofModel) {
    QList<CaptionPreset> presets;
    for (const captions::Preset& builtIn : captions::presets()) {
        const auto own =
            std::find_if(ofModel.begin(), ofModel.end(), [&](const auto& it) { return it.first == builtIn.name; });
        const std::string& prompt = own == ofModel.end() ? builtIn.prompt : own->second;
        presets.append({shownName(builtIn.name), QString::fromStdString(prompt)});
    }
    for (const auto& [name, prompt] : ofModel) {
        const QString shown = shownName(name);
        const bool known =
            std::any_of(presets.begin(), presets.end(), [&](const CaptionPreset& it) { return it.name == shown; });
        if (!known) presets.append({shown, QString::fromStdString(prompt)});
    }
    return presets;
}

CaptionSettings defaultCaptionSettings(const QList<CaptionPreset>& presets) {
    CaptionSettings settings = captionSettingsFrom({});
    settings.preset = presets.first().name;
    settings.prompt = presets.first().prompt;
    return settings;
}

}  // namespace vitrine
