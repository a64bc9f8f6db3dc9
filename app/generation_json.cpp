#include "app/generation_json.h"

#include <QJsonArray>

#include <type_traits>

namespace vitrine {
namespace {

// The numbers, each with its key and range: written and read from one list.
template <typename Options, typename Visit>
void visitNumbers(Options& options, const Visit& visit) {
    auto& sampling = options.sampling;
    visit("max_tokens", options.max_tokens, 1, 1 << 20);
    visit("temperature", sampling.temperature, 0, 10);
    visit("top_k", sampling.top_k, 0, 1 << 20);
    visit("top_p", sampling.top_p, 0.0001, 1);
    visit("min_p", sampling.min_p, 0, 0.9999);
    visit("repetition_penalty", sampling.repetition_penalty, 0.01, 100);
    visit("presence_penalty", sampling.presence_penalty, -100, 100);
    visit("penalty_window", sampling.penalty_window, 0, 1 << 20);
}

}  // namespace

QJsonObject toJson(const GenerationOptions& options) {
    QJsonObject json;
    visitNumbers(options, [&](const char* key, auto value, double, double) { json.insert(QLatin1String(key), value); });
    QJsonArray stop;
    for (const std::string& text : options.stop) stop.append(QString::fromStdString(text));
    json.insert(QStringLiteral("stop"), stop);
    json.insert(QStringLiteral("thinking"), options.thinking);
    json.insert(QStringLiteral("detect_loops"), options.detect_loops);
    json.insert(QStringLiteral("seed"), QString::number(options.sampling.seed));
    return json;
}

GenerationOptions generationFrom(const QJsonObject& json, const GenerationOptions& fallback) {
    GenerationOptions options = fallback;
    visitNumbers(options, [&](const char* key, auto& value, double least, double most) {
        const double read = json.value(QLatin1String(key)).toDouble(least - 1);
        if (read >= least && read <= most) value = static_cast<std::remove_reference_t<decltype(value)>>(read);
    });
    if (json.value(QStringLiteral("stop")).isArray()) {
        options.stop.clear();
        for (const QJsonValue& text : json.value(QStringLiteral("stop")).toArray())
            options.stop.push_back(text.toString().toStdString());
    }
    options.thinking = json.value(QStringLiteral("thinking")).toBool(options.thinking);
    options.detect_loops = json.value(QStringLiteral("detect_loops")).toBool(options.detect_loops);
    bool isNumber = false;
    const quint64 seed = json.value(QStringLiteral("seed")).toString().toULongLong(&isNumber);
    if (isNumber) options.sampling.seed = seed;
    return options;
}

}  // namespace vitrine
