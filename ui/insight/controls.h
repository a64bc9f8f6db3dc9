#pragma once

#include "ui/insight/values.h"

#include <QWidget>

#include <array>

class QButtonGroup;
class QCheckBox;
class QComboBox;
class QLabel;
class QSpinBox;
class QToolButton;

namespace vitrine {

class WrappedLabel;

// What a person chooses of a map: first what is looked at (tower, method, layer, head, picture), then, folded away, how
// it looks. Each tower keeps its own method, layer and head. Lives on the UI thread.
class InsightControls : public QWidget {
    Q_OBJECT

public:
    explicit InsightControls(QWidget* parent = nullptr);

    // Choices that do not exist any more fall back to the mean over all.
    void setShape(const InsightLayout& shape);
    void setColourNames(const QStringList& names);

    // Token and patch are not chosen here: they come back as they were given.
    InsightView view() const;
    void setView(const InsightView& view);  // emits nothing

    void openHead(int layer, int head);
    void stepLayer(int by);
    void stepHead(int by);
    void foldLook(bool folded);

Q_SIGNALS:
    void changed();

private:
    struct Choice {
        MapMethod method = MapMethod::attention;
        int layer = kAll;
        int head = kAll;
    };

    QWidget* buildLook();
    Tower tower() const;
    Choice& choice() { return m_choices[static_cast<std::size_t>(tower())]; }
    void showChoice();
    void announce();

    InsightLayout m_shape;
    InsightView m_given;
    std::array<Choice, 2> m_choices;
    bool m_setting = true;  // by the program: nothing is announced
    QToolButton* m_language;
    QToolButton* m_vision;
    QComboBox* m_method;
    WrappedLabel* m_explanation;
    QSpinBox* m_layer;
    QSpinBox* m_head;
    QLabel* m_pictureLabel;
    QSpinBox* m_picture;
    QToolButton* m_lookButton;
    QWidget* m_look;
    QComboBox* m_colours;
    QComboBox* m_scale;
    QComboBox* m_transform;
    QComboBox* m_sinks;
    QCheckBox* m_smooth;
    QCheckBox* m_showSeen;
};

}  // namespace vitrine
