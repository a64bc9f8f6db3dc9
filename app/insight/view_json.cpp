#include "app/insight/view_json.h"

#include "app/names.h"

namespace vitrine {
namespace {

QString textOf(std::string_view name) {
    return QString::fromLatin1(name.data(), static_cast<qsizetype>(name.size()));
}

constexpr NameTable<ScaleKind, 4> kScales{{{ScaleKind::per_map, QLatin1String("map")},
                                           {ScaleKind::per_layer, QLatin1String("layer")},
                                           {ScaleKind::global, QLatin1String("global")},
                                           {ScaleKind::uniform, QLatin1String("uniform")}}};
constexpr NameTable<ScaleTransform, 3> kTransforms{{{ScaleTransform::linear, QLatin1String("linear")},
                                                    {ScaleTransform::log, QLatin1String("log")},
                                                    {ScaleTransform::clip99, QLatin1String("clip99")}}};
constexpr NameTable<SinkMode, 3> kSinks{{{SinkMode::leave, QLatin1String("leave")},
                                         {SinkMode::hatch, QLatin1String("hatch")},
                                         {SinkMode::hide, QLatin1String("hide")}}};

}  // namespace

QJsonObject jsonOf(const InsightView& view) {
    return {{QStringLiteral("tower"), textOf(name_of(view.request.tower))},
            {QStringLiteral("method"), textOf(name_of(view.request.method))},
            {QStringLiteral("layer"), view.request.layer},
            {QStringLiteral("head"), view.request.head},
            {QStringLiteral("scale"), nameIn(kScales, view.scale)},
            {QStringLiteral("transform"), nameIn(kTransforms, view.transform)},
            {QStringLiteral("colours"), view.colours},
            {QStringLiteral("smooth"), view.smooth},
            {QStringLiteral("seen"), view.showSeen},
            {QStringLiteral("sinks"), nameIn(kSinks, view.sinks)}};
}

InsightView viewFrom(const QJsonObject& json) {
    InsightView view;
    const auto text = [&json](const char* key) { return json[QLatin1String(key)].toString(); };
    if (text("tower") == textOf(name_of(Tower::vision))) view.request.tower = Tower::vision;
    view.request.method = map_method_from_name(text("method").toStdString()).value_or(view.request.method);
    view.request.layer = json[QLatin1String("layer")].toInt(view.request.layer);
    view.request.head = json[QLatin1String("head")].toInt(view.request.head);
    view.scale = valueIn(kScales, text("scale"), view.scale);
    view.transform = valueIn(kTransforms, text("transform"), view.transform);
    if (!text("colours").isEmpty()) view.colours = text("colours");
    view.smooth = json[QLatin1String("smooth")].toBool();
    view.showSeen = json[QLatin1String("seen")].toBool();
    view.sinks = valueIn(kSinks, text("sinks"), view.sinks);
    return view;
}

}  // namespace vitrine
