#pragma once

#include "ui/insight/values.h"
#include "ui/pictures/picture.h"

#include <QCoreApplication>
#include <QMouseEvent>
#include <QPainter>
#include <QWidget>

#include <cmath>
#include <cstdint>
#include <ctime>
#include <initializer_list>
#include <string>
#include <vector>

// Made-up but believable things to look into: a scene of two shapes, an answer about it, maps that light the shape that
// is being named.
namespace vitrine::test {

inline constexpr int kSide = 14;
inline constexpr std::int64_t kPrompt = 231;

inline ColourTable table(std::initializer_list<QRgb> stops) {
    const std::vector<QRgb> at(stops);
    ColourTable result;
    for (int i = 0; i < 256; ++i) {
        const double where = i / 255.0 * static_cast<double>(at.size() - 1);
        const auto below = std::min(static_cast<std::size_t>(where), at.size() - 2);
        const double share = where - static_cast<double>(below);
        const auto mix = [&](int a, int b) { return static_cast<int>(std::lround(a + (b - a) * share)); };
        const QRgb a = at[below];
        const QRgb b = at[below + 1];
        result[static_cast<std::size_t>(i)] =
            qRgb(mix(qRed(a), qRed(b)), mix(qGreen(a), qGreen(b)), mix(qBlue(a), qBlue(b)));
    }
    return result;
}

inline ColourTables tables() {
    return {{QStringLiteral("cividis"),
             table({qRgb(0, 34, 78), qRgb(63, 76, 107), qRgb(125, 124, 121), qRgb(186, 175, 111), qRgb(254, 232, 56)})},
            {QStringLiteral("magma"),
             table({qRgb(0, 0, 4), qRgb(81, 18, 124), qRgb(183, 55, 121), qRgb(252, 137, 97), qRgb(252, 253, 191)})},
            {QStringLiteral("viridis"),
             table({qRgb(68, 1, 84), qRgb(59, 82, 139), qRgb(33, 145, 140), qRgb(94, 201, 98), qRgb(253, 231, 37)})}};
}

inline ColourTable twoSided() {
    return table(
        {qRgb(33, 102, 172), qRgb(146, 197, 222), qRgb(247, 247, 247), qRgb(244, 165, 130), qRgb(178, 24, 43)});
}

inline QImage scene(int width, int height) {
    QImage image(width, height, QImage::Format_RGB32);
    QPainter painter(&image);
    painter.setRenderHint(QPainter::Antialiasing);
    QLinearGradient sky(0, 0, 0, height);
    sky.setColorAt(0, QColor(176, 206, 232));
    sky.setColorAt(0.6, QColor(232, 228, 214));
    sky.setColorAt(0.61, QColor(112, 140, 84));
    sky.setColorAt(1, QColor(70, 98, 60));
    painter.fillRect(image.rect(), sky);
    painter.setPen(Qt::NoPen);
    painter.setBrush(QColor(206, 48, 40));
    painter.drawEllipse(QPointF(width * 0.3, height * 0.38), width * 0.13, height * 0.17);
    painter.setBrush(QColor(38, 78, 170));
    painter.drawRect(QRectF(width * 0.6, height * 0.52, width * 0.24, height * 0.26));
    return image;
}

inline InsightLayout layout(int pictures = 1) {
    InsightLayout layout;
    layout.layers = 28;
    layout.heads = 16;
    layout.vision_layers = 12;
    layout.vision_heads = 12;
    layout.rows = layout.columns = kSide;
    layout.pictures = pictures;
    layout.answer_begin = kPrompt;
    layout.length = kPrompt;
    return layout;
}

inline InsightToken answerToken(std::int64_t position, const std::string& text) {
    InsightToken token;
    token.position = position;
    token.id = static_cast<std::int32_t>(1000 + position);
    token.text = text;
    token.place = TokenPlace::answer;
    token.log_prob = -0.1F - static_cast<float>(position % 7) * 0.2F;
    token.alternatives = {{token.id, text, token.log_prob},
                          {7, " blue", token.log_prob - 1.2F},
                          {8, " large", token.log_prob - 2.1F},
                          {9, " round", token.log_prob - 3.4F},
                          {10, " orange", token.log_prob - 4.4F}};
    return token;
}

inline std::vector<InsightToken> promptTokens() {
    std::vector<InsightToken> tokens;
    const auto add = [&](const std::string& text, TokenPlace place = TokenPlace::prompt) {
        InsightToken token;
        token.position = static_cast<std::int64_t>(tokens.size());
        token.id = static_cast<std::int32_t>(tokens.size());
        token.text = text;
        token.place = place;
        token.picture = place == TokenPlace::picture ? 0 : -1;
        tokens.push_back(token);
    };
    for (const char* text : {"<|im_start|>", "system", "\n", "You", " see", " pictures", ".", "<|im_end|>", "\n",
                             "<|im_start|>", "user", "\n"})
        add(text);
    for (int i = 0; i < kSide * kSide; ++i) add("<|image_pad|>", TokenPlace::picture);
    for (const char* text : {"\n", "Describe", " this", " picture", " with", " all", " that", " is", " in", " it", ".",
                             "<|im_end|>", "\n", "<|im_start|>", "assistant", "\n"})
        add(text);
    while (static_cast<std::int64_t>(tokens.size()) < kPrompt) add(" please");
    return tokens;
}

inline std::vector<InsightToken> answerTokens() {
    std::vector<InsightToken> tokens;
    for (const char* text :
         {"A",      " large", " red", " ball",  " hangs", " in",  " a",     " pale",   " sky",      " above", " a",
          " green", " me",    "adow", ".",      " To",    " its", " right", " stands", " a",        " blue",  " box",
          ",",      " half",  " on",  " the",   " grass", ".",    "\n\n",   "Nothing", " else",     " can",   " be",
          " seen",  ",",      " and", " there", " is",    " no",  " text",  ".",       "<|im_end|>"})
        tokens.push_back(answerToken(kPrompt + static_cast<std::int64_t>(tokens.size()), text));
    return tokens;
}

inline InsightSource source(bool live = false) {
    InsightSource source;
    source.title = QStringLiteral("Describe this picture with all that is in it.");
    source.layout = layout();
    source.tokens = promptTokens();
    if (!live) {
        const std::vector<InsightToken> answer = answerTokens();
        source.tokens.insert(source.tokens.end(), answer.begin(), answer.end());
        source.layout.length += static_cast<std::int64_t>(answer.size());
    }
    source.live = live;
    return source;
}

// Small and the same each time, without the state of a generator.
inline float noise(std::uint32_t seed) {
    seed = (seed ^ 61U) ^ (seed >> 16U);
    seed *= 9U;
    seed ^= seed >> 4U;
    seed *= 0x27d4eb2dU;
    seed ^= seed >> 15U;
    return static_cast<float>(seed & 0xFFFFU) / 65536.0F;
}

inline void light(float* values, double x, double y, double spread, float strength, std::uint32_t seed) {
    for (int i = 0; i < kSide * kSide; ++i) {
        const double dx = (i % kSide + 0.5) / kSide - x;
        const double dy = (i / kSide + 0.5) / kSide - y;
        const auto glow = static_cast<float>(std::exp(-(dx * dx + dy * dy) / (spread * spread)));
        values[i] = strength * (glow + 0.12F * noise(seed + static_cast<std::uint32_t>(i)));
    }
}

inline AttentionMap mapOf(const MapRequest& request, float strength = 0.011F) {
    AttentionMap map;
    map.request = request;
    map.grid = {kSide, kSide, std::vector<float>(kSide * kSide)};
    const bool box = request.position > kPrompt + 15;
    light(map.grid.values.data(), box ? 0.72 : 0.3, box ? 0.65 : 0.38, 0.14, strength, 5);
    map.grid.values[13] = strength * 0.9F;  // a sink
    double sum = 0;
    for (const float value : map.grid.values) sum += value;
    map.masses = Masses{sum, 0.0, 0.55, 0.32 - sum, 0.13};
    map.entropy = 2.31;
    map.keys = request.position > 0 ? request.position : kPrompt;
    return map;
}

inline HeadMaps headsOf(const MapRequest& request, int layers = 28, int heads = 16) {
    HeadMaps maps;
    maps.request = request;
    maps.layers = layers;
    maps.heads = heads;
    maps.rows = maps.columns = kSide;
    maps.values.resize(static_cast<std::size_t>(layers * heads * kSide * kSide));
    for (int cell = 0; cell < layers * heads; ++cell) {
        const auto seed = static_cast<std::uint32_t>(cell) * 7919U;
        const float strength = 0.03F * noise(seed) * noise(seed + 1) * noise(seed + 2);
        light(maps.values.data() + static_cast<std::size_t>(cell * kSide * kSide), 0.1 + 0.8 * noise(seed + 3),
              0.1 + 0.8 * noise(seed + 4), 0.06 + 0.4 * noise(seed + 5), strength, seed);
        double sum = 0;
        for (int i = 0; i < kSide * kSide; ++i) sum += maps.values[static_cast<std::size_t>(cell * kSide * kSide + i)];
        maps.masses.push_back({sum, 0.0, 0.7 * (1 - sum), 0.2 * (1 - sum), 0.1 * (1 - sum)});
        maps.entropy.push_back(1.0F + 4.0F * noise(seed + 6));
    }
    return maps;
}

inline void movePointer(QWidget& widget, const QPointF& to, Qt::MouseButtons held = Qt::NoButton,
                        Qt::KeyboardModifiers keys = Qt::NoModifier) {
    QMouseEvent move(QEvent::MouseMove, to, widget.mapToGlobal(to), Qt::NoButton, held, keys);
    QCoreApplication::sendEvent(&widget, &move);
}

// How often a widget was painted: a measure of painting that measures nothing is found out.
class PaintCounter : public QObject {
public:
    explicit PaintCounter(QObject& watched) { watched.installEventFilter(this); }
    int count = 0;

protected:
    bool eventFilter(QObject*, QEvent* event) override {
        count += event->type() == QEvent::Paint ? 1 : 0;
        return false;
    }
};

// ms this thread has computed: other programs on a busy machine do not count.
inline double threadMs() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

}  // namespace vitrine::test
