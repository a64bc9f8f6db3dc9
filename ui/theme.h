#pragma once

#include <QColor>
#include <QPalette>
#include <QString>

class QApplication;
class QFont;
class QWidget;

// How Vitrine looks: one set of colours for light and one for dark, one scale of spaces and sizes of type. Widgets take
// colours from their own palette, so a part of the window can be drawn either way.
namespace vitrine::theme {

enum class Choice { system, light, dark };

Choice choiceFromName(const QString& name);  // "system", "light", "dark"; system for another word
QString nameOf(Choice choice);

// Palette and style sheet of the whole program. `systemIsDark` decides where the choice is the system's.
void apply(QApplication& application, Choice choice, bool systemIsDark);

struct Colors {
    QColor window;      // behind everything
    QColor surface;     // lists, editors, cards
    QColor raised;      // hovered rows, chips
    QColor border;      // hairlines; 3:1 on surface where it alone bounds a control
    QColor text;        // 12:1 or better on surface
    QColor muted;       // second-rank text, 4.5:1 or better on surface and window
    QColor accent;      // the one action of a place, selection, focus
    QColor accentText;  // on accent
    QColor good;        // done
    QColor warning;
    QColor bad;  // failed; text in it is 4.5:1 or better on surface
};

bool isDark(const QPalette& palette);
const Colors& colors(const QPalette& palette);
const Colors& colors(const QWidget& widget);

// Spaces in device-independent pixels: between related things, between groups, around a page.
inline constexpr int kTight = 4;
inline constexpr int kSpace = 8;
inline constexpr int kGroup = 16;
inline constexpr int kPage = 24;
inline constexpr int kRadius = 6;

QFont titleFont(const QFont& base);    // of a place or an empty state
QFont headingFont(const QFont& base);  // of a group
QFont smallFont(const QFont& base);    // of second-rank text

// Names what a button is for the style sheet: "primary" (the one action of a place), "quiet" (no frame until hovered),
// "danger".
void setButtonKind(QWidget& button, const char* kind);
// Second-rank text in the muted colour, following light and dark.
void setMuted(QWidget& label);

}  // namespace vitrine::theme
