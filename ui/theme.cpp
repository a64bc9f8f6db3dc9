#include "ui/theme.h"

#include <QApplication>
#include <QFont>
#include <QStyleFactory>
#include <QWidget>

#include <array>
#include <utility>

namespace vitrine::theme {
namespace {

const Colors kLight{
    .window = QColor(0xF4F4F1),
    .surface = QColor(0xFFFFFF),
    .raised = QColor(0xE9EAE6),
    .border = QColor(0xC9CBC4),
    .text = QColor(0x1C1E1B),
    .muted = QColor(0x5B5F58),
    .accent = QColor(0x1F6F5C),
    .accentText = QColor(0xFFFFFF),
    .good = QColor(0x24713F),
    .warning = QColor(0x8A5A00),
    .bad = QColor(0xB3261E),
};

const Colors kDark{
    .window = QColor(0x191B1A),
    .surface = QColor(0x212423),
    .raised = QColor(0x2E3230),
    .border = QColor(0x434845),
    .text = QColor(0xECEEEB),
    .muted = QColor(0xA4AAA5),
    .accent = QColor(0x62C4A8),
    .accentText = QColor(0x0B1F19),
    .good = QColor(0x7CCB93),
    .warning = QColor(0xE3B341),
    .bad = QColor(0xFF8A80),
};

QPalette paletteOf(const Colors& c) {
    QPalette palette;
    const auto all = [&palette](QPalette::ColorRole role, const QColor& color) { palette.setColor(role, color); };
    all(QPalette::Window, c.window);
    all(QPalette::WindowText, c.text);
    all(QPalette::Base, c.surface);
    all(QPalette::AlternateBase, c.raised);
    all(QPalette::Text, c.text);
    all(QPalette::PlaceholderText, c.muted);
    all(QPalette::Button, c.surface);
    all(QPalette::ButtonText, c.text);
    all(QPalette::BrightText, c.bad);
    all(QPalette::ToolTipBase, c.raised);
    all(QPalette::ToolTipText, c.text);
    all(QPalette::Highlight, c.accent);
    all(QPalette::HighlightedText, c.accentText);
    all(QPalette::Link, c.accent);
    all(QPalette::LinkVisited, c.accent);
    all(QPalette::Light, c.surface);
    all(QPalette::Midlight, c.raised);
    all(QPalette::Mid, c.border);
    all(QPalette::Dark, c.border);
    all(QPalette::Shadow, c.border);
    for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
        palette.setColor(QPalette::Disabled, role, c.muted);
    }
    palette.setColor(QPalette::Disabled, QPalette::Highlight, c.raised);
    palette.setColor(QPalette::Disabled, QPalette::HighlightedText, c.muted);
    return palette;
}

// Fusion draws the rest; this gives the controls one shape, a visible focus and the kinds of buttons. @name is a
// colour.
constexpr const char* kStyle = R"(
QPushButton, QToolButton { border: 1px solid @border; border-radius: 6px; padding: 5px 12px; background: @surface; color: @text; }
QToolButton { padding: 5px; }
QPushButton:hover, QToolButton:hover { background: @raised; }
QPushButton:pressed, QToolButton:pressed, QToolButton:checked { background: @raised; border-color: @accent; }
QPushButton:disabled, QToolButton:disabled { color: @muted; background: @window; }
QPushButton:focus, QToolButton:focus { border: 2px solid @accent; padding: 4px 11px; }
QToolButton:focus { padding: 4px; }
QPushButton[kind="primary"], QToolButton[kind="primary"] { background: @accent; color: @accentText; border-color: @accent; font-weight: 600; }
QPushButton[kind="primary"]:hover, QToolButton[kind="primary"]:hover { background: @accentHover; }
QPushButton[kind="primary"]:disabled, QToolButton[kind="primary"]:disabled { background: @raised; color: @muted; border-color: @raised; }
QPushButton[kind="primary"]:focus, QToolButton[kind="primary"]:focus { border: 2px solid @text; }
QPushButton[kind="danger"] { color: @bad; border-color: @bad; }
QPushButton[kind="quiet"], QToolButton[kind="quiet"] { background: transparent; border-color: transparent; }
QPushButton[kind="quiet"]:hover, QToolButton[kind="quiet"]:hover { background: @raised; }
QPushButton[kind="quiet"]:checked, QToolButton[kind="quiet"]:checked { background: @raised; }
QPushButton[kind="quiet"]:focus, QToolButton[kind="quiet"]:focus { border: 2px solid @accent; }
QToolButton::menu-indicator { image: none; }
QPushButton::menu-indicator { image: url(:/vitrine/icons/@shade/chevron-down.svg); width: 12px; height: 12px; subcontrol-position: right center; right: 8px; }
QLineEdit, QPlainTextEdit, QTextEdit, QSpinBox, QDoubleSpinBox, QComboBox { border: 1px solid @border; border-radius: 6px; padding: 4px 6px; background: @surface; color: @text; selection-background-color: @accent; selection-color: @accentText; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus { border: 2px solid @accent; padding: 3px 5px; }
QLineEdit:disabled, QPlainTextEdit:disabled, QTextEdit:disabled, QSpinBox:disabled, QDoubleSpinBox:disabled, QComboBox:disabled { color: @muted; background: @window; }
QComboBox::drop-down { border: none; width: 22px; }
QComboBox::down-arrow { image: url(:/vitrine/icons/@shade/chevron-down.svg); width: 14px; height: 14px; }
QSpinBox, QDoubleSpinBox { padding-right: 22px; }
QSpinBox::up-button, QDoubleSpinBox::up-button { subcontrol-position: top right; width: 20px; border: none; background: transparent; }
QSpinBox::down-button, QDoubleSpinBox::down-button { subcontrol-position: bottom right; width: 20px; border: none; background: transparent; }
QSpinBox::up-arrow, QDoubleSpinBox::up-arrow { image: url(:/vitrine/icons/@shade/chevron-up.svg); width: 10px; height: 10px; }
QSpinBox::down-arrow, QDoubleSpinBox::down-arrow { image: url(:/vitrine/icons/@shade/chevron-down.svg); width: 10px; height: 10px; }
QCheckBox { spacing: 8px; }
QCheckBox::indicator, QAbstractItemView::indicator { width: 15px; height: 15px; border: 1px solid @muted; border-radius: 4px; background: @surface; }
QCheckBox::indicator:checked, QAbstractItemView::indicator:checked { border-color: @accent; background: @accent; image: url(:/vitrine/icons/@shade/check.svg); }
QCheckBox::indicator:focus { border: 2px solid @accent; }
QCheckBox::indicator:disabled { border-color: @border; background: @window; }
QScrollBar { background: transparent; border: none; margin: 0; }
QScrollBar:vertical { width: 11px; }
QScrollBar:horizontal { height: 11px; }
QScrollBar::handle { background: @border; border-radius: 3px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 32px; }
QScrollBar::handle:horizontal { min-width: 32px; }
QScrollBar::handle:hover { background: @muted; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractItemView { border: 1px solid @border; border-radius: 6px; background: @surface; outline: none; }
QAbstractItemView:focus { border: 1px solid @accent; }
QHeaderView::section { background: @window; color: @muted; border: none; border-bottom: 1px solid @border; padding: 5px 8px; }
QTabBar::tab { padding: 7px 14px; border: none; border-bottom: 2px solid transparent; color: @muted; background: transparent; }
QTabBar::tab:selected { color: @text; border-bottom: 2px solid @accent; }
QTabBar::tab:focus { color: @accent; }
QTabWidget::pane { border: none; border-top: 1px solid @border; }
QProgressBar { border: none; border-radius: 3px; background: @raised; max-height: 6px; min-height: 6px; }
QProgressBar::chunk { border-radius: 3px; background: @accent; }
QSplitter::handle { background: transparent; }
QSplitter::handle:hover { background: @border; }
QToolTip { border: 1px solid @border; padding: 4px 6px; background: @raised; color: @text; }
QStatusBar { border-top: 1px solid @border; }
QStatusBar::item { border: none; }
QMenu { border: 1px solid @border; background: @surface; padding: 4px; }
QMenu::item { padding: 6px 24px 6px 12px; border-radius: 4px; }
QMenu::item:selected { background: @raised; color: @text; }
QMenu::item:disabled { color: @muted; }
QMenu::separator { height: 1px; background: @border; margin: 4px 8px; }
QMenuBar { background: @window; }
QMenuBar::item { padding: 5px 9px; border-radius: 4px; background: transparent; }
QMenuBar::item:selected { background: @raised; }
#rail { border-right: 1px solid @border; }
#messageBar { border: none; border-top: 1px solid @border; background: @surface; }
QLabel[muted="true"], QCheckBox[muted="true"] { color: @muted; }
)";

QString styleSheet(const Colors& c, bool dark) {
    const std::array<std::pair<const char*, QString>, 13> values{{
        {"@accentText", c.accentText.name()},  // before @accent, of which it is a longer name
        {"@accentHover", (dark ? c.accent.lighter(112) : c.accent.darker(115)).name()},
        {"@accent", c.accent.name()},
        {"@window", c.window.name()},
        {"@surface", c.surface.name()},
        {"@raised", c.raised.name()},
        {"@border", c.border.name()},
        {"@text", c.text.name()},
        {"@muted", c.muted.name()},
        {"@bad", c.bad.name()},
        {"@good", c.good.name()},
        {"@warning", c.warning.name()},
        {"@shade", dark ? QStringLiteral("dark") : QStringLiteral("light")},
    }};
    QString sheet = QString::fromLatin1(kStyle);
    for (const auto& [name, value] : values) sheet.replace(QLatin1String(name), value);
    return sheet;
}

QFont scaled(const QFont& base, double factor, QFont::Weight weight) {
    QFont font = base;
    if (base.pointSizeF() > 0) {
        font.setPointSizeF(base.pointSizeF() * factor);
    } else {
        font.setPixelSize(qRound(base.pixelSize() * factor));
    }
    font.setWeight(weight);
    return font;
}

}  // namespace

Choice choiceFromName(const QString& name) {
    if (name == QStringLiteral("light")) return Choice::light;
    if (name == QStringLiteral("dark")) return Choice::dark;
    return Choice::system;
}

QString nameOf(Choice choice) {
    switch (choice) {
        case Choice::light: return QStringLiteral("light");
        case Choice::dark: return QStringLiteral("dark");
        case Choice::system: break;
    }
    return QStringLiteral("system");
}

void apply(QApplication& application, Choice choice, bool systemIsDark) {
    const bool dark = choice == Choice::dark || (choice == Choice::system && systemIsDark);
    const Colors& c = dark ? kDark : kLight;
    application.setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    application.setPalette(paletteOf(c));
    application.setStyleSheet(styleSheet(c, dark));
}

bool isDark(const QPalette& palette) {
    return palette.color(QPalette::Base).lightnessF() < 0.5;
}
const Colors& colors(const QPalette& palette) {
    return isDark(palette) ? kDark : kLight;
}
const Colors& colors(const QWidget& widget) {
    return colors(widget.palette());
}

QFont titleFont(const QFont& base) {
    return scaled(base, 1.45, QFont::DemiBold);
}
QFont headingFont(const QFont& base) {
    return scaled(base, 1.1, QFont::DemiBold);
}
QFont smallFont(const QFont& base) {
    return scaled(base, 0.9, QFont::Normal);
}

void setButtonKind(QWidget& button, const char* kind) {
    button.setProperty("kind", QString::fromLatin1(kind));
}
void setMuted(QWidget& label) {
    label.setProperty("muted", true);
}

}  // namespace vitrine::theme
