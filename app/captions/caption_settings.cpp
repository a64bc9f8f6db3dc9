#include "app/captions/caption_settings.h"

#include "core/captions/prompt.h"

#include <QCoreApplication>
#include <QJsonArray>

#include <algorithm>
#include <array>

namespace vitrine {
namespace {

// Names in the file, by the values of the enumerations.
constexpr std::array<const char*, 4> kPolicies{"only missing", "replace machine", "all but edited", "everything"};
constexpr std::array<const char*, 3> kSidecars{"none", "txt", "caption"};

template <typename Enum, std::size_t size>
QString nameOf(Enum value, const std::array<const char*, size>& names) {
    return QString::fromLatin1(names[static_cast<std::size_t>(value)]);
}

template <typename Enum, std::size_t size>
Enum fromName(const QString& name, const std::array<const char*, size>& names, Enum fallback) {
    for (std::size_t i = 0; i < size; ++i) {
        if (name == QLatin1String(names[i])) return static_cast<Enum>(i);
    }
    return fallback;
}

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
    const SamplingOptions& sampling = settings.generation.sampling;
    QJsonArray stop;
    for (const std::string& text : settings.generation.stop) stop.append(QString::fromStdString(text));
    return {{QStringLiteral("preset"), settings.preset},
            {QStringLiteral("prompt"), settings.prompt},
            {QStringLiteral("length"), settings.length},
            {QStringLiteral("policy"), nameOf(settings.policy, kPolicies)},
            {QStringLiteral("sidecar"), nameOf(settings.sidecar, kSidecars)},
            {QStringLiteral("max_tokens"), settings.generation.max_tokens},
            {QStringLiteral("stop"), stop},
            {QStringLiteral("detect_loops"), settings.generation.detect_loops},
            {QStringLiteral("temperature"), sampling.temperature},
            {QStringLiteral("top_k"), sampling.top_k},
            {QStringLiteral("top_p"), sampling.top_p},
            {QStringLiteral("min_p"), sampling.min_p},
            {QStringLiteral("repetition_penalty"), sampling.repetition_penalty},
            {QStringLiteral("presence_penalty"), sampling.presence_penalty},
            {QStringLiteral("penalty_window"), sampling.penalty_window},
            {QStringLiteral("seed"), QString::number(sampling.seed)}};  // JSON numbers end at 53 bits
}

CaptionSettings captionSettingsFrom(const QJsonObject& json) {
    CaptionSettings settings;
    const auto number = [&](const char* key, auto& value, double least, double most) {
        const double read = json.value(QLatin1String(key)).toDouble(least - 1);
        if (read >= least && read <= most) value = static_cast<std::remove_reference_t<decltype(value)>>(read);
    };
    settings.preset = json.value(QStringLiteral("preset")).toString();
    settings.prompt = json.value(QStringLiteral("prompt")).toString();
    number("length", settings.length, 1, 10'000);
    // To replace what people wrote is agreed to once, never remembered.
    settings.policy = fromName(json.value(QStringLiteral("policy")).toString(), kPolicies, settings.policy);
    if (settings.policy == CaptionPolicy::everything) settings.policy = CaptionPolicy::allButEdited;
    settings.sidecar = fromName(json.value(QStringLiteral("sidecar")).toString(), kSidecars, settings.sidecar);

    GenerationOptions& generation = settings.generation;
    generation.max_tokens = 128;
    number("max_tokens", generation.max_tokens, 1, 1 << 20);
    generation.detect_loops = json.value(QStringLiteral("detect_loops")).toBool(generation.detect_loops);
    for (const QJsonValue& text : json.value(QStringLiteral("stop")).toArray())
        generation.stop.push_back(text.toString().toStdString());
    SamplingOptions& sampling = generation.sampling;
    number("temperature", sampling.temperature, 0, 10);
    number("top_k", sampling.top_k, 0, 1 << 20);
    number("top_p", sampling.top_p, 0.0001, 1);
    number("min_p", sampling.min_p, 0, 0.9999);
    number("repetition_penalty", sampling.repetition_penalty, 0.01, 100);
    number("presence_penalty", sampling.presence_penalty, -100, 100);
    number("penalty_window", sampling.penalty_window, 0, 1 << 20);
    sampling.seed = json.value(QStringLiteral("seed")).toString().toULongLong();
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
