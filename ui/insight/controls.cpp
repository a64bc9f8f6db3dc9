#include "ui/insight/controls.h"

#include "ui/icons.h"
#include "ui/insight/labels.h"
#include "ui/insight/words.h"
#include "ui/theme.h"

#include <QButtonGroup>
#include <QCheckBox>
#include <QComboBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QToolButton>

#include <algorithm>
#include <utility>

namespace vitrine {
namespace {

template <typename Value>
void select(QComboBox& box, Value value) {
    box.setCurrentIndex(std::max(0, box.findData(static_cast<int>(value))));
}

template <typename Value>
Value selected(const QComboBox& box) {
    return static_cast<Value>(box.currentData().toInt());
}

// May be squeezed: what does not fit is cut, not the window widened.
QComboBox* makeBox(const QString& name, QWidget* parent) {
    auto* box = new QComboBox(parent);
    box->setAccessibleName(name);
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(5);
    return box;
}

QLabel* makeLabel(const QString& text, QWidget* buddy, QWidget* parent) {
    auto* label = new QLabel(text, parent);
    label->setBuddy(buddy);
    theme::setMuted(*label);
    return label;
}

// Counts from 0, as files and papers do; below it stands the mean over all.
QSpinBox* makeStepper(const QString& name, const QString& help, QWidget* parent) {
    auto* box = new QSpinBox(parent);
    box->setRange(kAll, kAll);
    box->setSpecialValueText(QObject::tr("all"));
    box->setAccessibleName(name);
    box->setToolTip(help);
    box->setAccessibleDescription(help);
    box->setMinimumWidth(box->fontMetrics().horizontalAdvance(QStringLiteral("0000")) + 34);
    return box;
}

}  // namespace

InsightControls::InsightControls(QWidget* parent)
    : QWidget(parent),
      m_language(new QToolButton(this)),
      m_vision(new QToolButton(this)),
      m_method(makeBox(tr("Method"), this)),
      m_explanation(new WrappedLabel(this)),
      m_layer(makeStepper(tr("Layer"), tr("Layer, from 0 (Up and Down); below it the mean of all"), this)),
      m_head(makeStepper(tr("Head"), tr("Head, from 0 ([ and ], or Ctrl+Up and Ctrl+Down); below it the mean of all"),
                         this)),
      m_picture(makeStepper(tr("Picture"), tr("Which picture of the conversation"), this)),
      m_lookButton(new QToolButton(this)) {
    auto* towers = new QButtonGroup(this);
    const auto segment = [&](QToolButton* button, const QString& text, const QString& help) {
        button->setText(text);
        button->setToolTip(help);
        button->setAccessibleName(text);
        button->setCheckable(true);
        towers->addButton(button);
        connect(button, &QToolButton::toggled, this, [this](bool on) {
            if (!on || m_setting) return;
            showChoice();
            announce();
        });
    };
    segment(m_language, tr("Language"), tr("The language model: from a word of the answer to the picture"));
    segment(m_vision, tr("Vision"), tr("The vision tower: from one patch of the picture to the others"));
    m_language->setChecked(true);
    m_explanation->setFont(theme::smallFont(font()));
    theme::setMuted(*m_explanation);
    m_picture->setSpecialValueText({});
    m_lookButton->setText(tr("Look"));
    m_lookButton->setCheckable(true);
    m_lookButton->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_lookButton->setToolTip(tr("Colours, scale, sinks"));
    m_lookButton->setAccessibleName(tr("Look of the map"));

    auto* first = new QHBoxLayout;
    first->setSpacing(theme::kTight);
    first->addWidget(m_language);
    first->addWidget(m_vision);
    first->addSpacing(theme::kTight);
    first->addWidget(m_method, 1);
    auto* second = new QHBoxLayout;
    second->setSpacing(theme::kTight);
    second->addWidget(makeLabel(tr("La&yer"), m_layer, this));
    second->addWidget(m_layer);
    second->addSpacing(theme::kTight);
    second->addWidget(makeLabel(tr("&Head"), m_head, this));
    second->addWidget(m_head);
    second->addStretch();
    second->addWidget(m_lookButton);
    m_pictureLabel = makeLabel(tr("&Picture"), m_picture, this);
    auto* third = new QHBoxLayout;
    third->setSpacing(theme::kTight);
    third->addWidget(m_pictureLabel);
    third->addWidget(m_picture);
    third->addStretch();
    m_look = buildLook();

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme::kTight);
    layout->addLayout(first);
    layout->addWidget(m_explanation);
    layout->addLayout(second);
    layout->addLayout(third);
    layout->addWidget(m_look);

    connect(m_method, &QComboBox::currentIndexChanged, this, [this] {
        if (m_setting) return;
        choice().method = selected<MapMethod>(*m_method);
        showChoice();
        announce();
    });
    connect(m_layer, &QSpinBox::valueChanged, this, [this](int layer) {
        if (m_setting) return;
        choice().layer = layer;
        announce();
    });
    connect(m_head, &QSpinBox::valueChanged, this, [this](int head) {
        if (m_setting) return;
        choice().head = head;
        announce();
    });
    connect(m_picture, &QSpinBox::valueChanged, this, &InsightControls::announce);
    connect(m_lookButton, &QToolButton::toggled, this, [this](bool open) { foldLook(!open); });
    setShape({});
    foldLook(true);
}

QWidget* InsightControls::buildLook() {
    auto* look = new QWidget(this);
    m_colours = makeBox(tr("Colours"), look);
    m_scale = makeBox(tr("Scale"), look);
    m_scale->addItem(tr("This map"), static_cast<int>(ScaleKind::per_map));
    m_scale->addItem(tr("This layer"), static_cast<int>(ScaleKind::per_layer));
    m_scale->addItem(tr("All layers"), static_cast<int>(ScaleKind::global));
    m_scale->addItem(tr("Times uniform"), static_cast<int>(ScaleKind::uniform));
    m_scale->setToolTip(tr("Which maps share one range of colours"));
    m_transform = makeBox(tr("Values"), look);
    for (const ScaleTransform transform : {ScaleTransform::linear, ScaleTransform::log, ScaleTransform::clip99})
        m_transform->addItem(insight::nameOf(transform), static_cast<int>(transform));
    m_sinks = makeBox(tr("Sinks"), look);
    m_sinks->addItem(tr("Leave"), static_cast<int>(SinkMode::leave));
    m_sinks->addItem(tr("Hatch"), static_cast<int>(SinkMode::hatch));
    m_sinks->addItem(tr("Hide"), static_cast<int>(SinkMode::hide));
    m_sinks->setToolTip(tr("Positions that collect attention without meaning anything"));
    m_smooth = new QCheckBox(tr("S&mooth"), look);
    m_smooth->setToolTip(tr("Off: a patch is a block, as the model has it"));
    m_showSeen = new QCheckBox(tr("What the m&odel saw"), look);
    m_showSeen->setToolTip(tr("The picture squeezed into the square the model was given"));

    auto* grid = new QGridLayout(look);
    grid->setContentsMargins(0, theme::kTight, 0, theme::kTight);
    grid->setHorizontalSpacing(theme::kSpace);
    grid->setVerticalSpacing(theme::kTight);
    int cell = 0;
    for (const auto& [name, box] : {std::pair{tr("Co&lours"), m_colours}, std::pair{tr("&Scale"), m_scale},
                                    std::pair{tr("&Values"), m_transform}, std::pair{tr("S&inks"), m_sinks}}) {
        grid->addWidget(makeLabel(name, box, look), cell / 2, cell % 2 * 2);
        grid->addWidget(box, cell / 2, cell % 2 * 2 + 1);
        ++cell;
        connect(box, &QComboBox::currentIndexChanged, this, &InsightControls::announce);
    }
    grid->addWidget(m_smooth, 2, 0, 1, 2);
    grid->addWidget(m_showSeen, 2, 2, 1, 2);
    for (QCheckBox* box : {m_smooth, m_showSeen}) connect(box, &QCheckBox::toggled, this, &InsightControls::announce);
    grid->setColumnStretch(1, 1);
    grid->setColumnStretch(3, 1);
    return look;
}

void InsightControls::foldLook(bool folded) {
    m_look->setVisible(!folded);
    const QSignalBlocker quiet(m_lookButton);
    m_lookButton->setChecked(!folded);
    m_lookButton->setIcon(icon(folded ? QStringLiteral("chevron-down") : QStringLiteral("chevron-up")));
}

Tower InsightControls::tower() const {
    return m_vision->isChecked() ? Tower::vision : Tower::language;
}

void InsightControls::setShape(const InsightLayout& shape) {
    // Nothing is known of a shape without layers: what was chosen waits for the next one.
    const auto keep = [](int& chosen, int count) { chosen = count > 0 && chosen >= count ? kAll : chosen; };
    m_shape = shape;
    for (const Tower tower : {Tower::language, Tower::vision}) {
        const bool language = tower == Tower::language;
        Choice& choice = m_choices[static_cast<std::size_t>(tower)];
        keep(choice.layer, language ? shape.layers : shape.vision_layers);
        keep(choice.head, language ? shape.heads : shape.vision_heads);
    }
    showChoice();
}

void InsightControls::setColourNames(const QStringList& names) {
    const QSignalBlocker quiet(m_colours);
    const QString chosen = m_colours->count() > 0 ? m_colours->currentData().toString() : m_given.colours;
    m_colours->clear();
    for (const QString& name : names) m_colours->addItem(name.left(1).toUpper() + name.mid(1), name);
    m_colours->setCurrentIndex(std::max(0, m_colours->findData(chosen)));
}

// The steppers and methods of the chosen tower.
void InsightControls::showChoice() {
    m_setting = true;
    const bool language = tower() == Tower::language;
    m_vision->setEnabled(m_shape.vision_layers > 0);
    const std::vector<MapMethod> methods = insight::methodsOf(tower());
    m_method->clear();
    for (const MapMethod method : methods) {
        m_method->addItem(insight::nameOf(method), static_cast<int>(method));
        m_method->setItemData(m_method->count() - 1, insight::explain(tower(), method), Qt::ToolTipRole);
    }
    Choice& chosen = choice();
    if (std::find(methods.begin(), methods.end(), chosen.method) == methods.end()) chosen.method = methods.front();
    select(*m_method, chosen.method);
    m_explanation->say(insight::explain(tower(), chosen.method));
    m_method->setToolTip(m_explanation->text());
    m_layer->setMaximum((language ? m_shape.layers : m_shape.vision_layers) - 1);
    m_head->setMaximum((language ? m_shape.heads : m_shape.vision_heads) - 1);
    m_layer->setValue(chosen.layer);
    m_head->setValue(chosen.head);
    m_layer->setEnabled(insight::takesLayer(chosen.method));
    m_head->setEnabled(insight::takesHead(chosen.method));
    m_picture->setRange(1, std::max(1, m_shape.pictures));
    m_picture->setVisible(m_shape.pictures > 1);
    m_pictureLabel->setVisible(m_shape.pictures > 1);
    m_picture->setSuffix(tr(" of %1").arg(m_shape.pictures));
    m_setting = false;
}

InsightView InsightControls::view() const {
    InsightView view = m_given;
    const Choice& choice = m_choices[static_cast<std::size_t>(tower())];
    view.request.tower = tower();
    view.request.method = choice.method;
    view.request.layer = choice.layer;
    view.request.head = choice.head;
    view.request.picture = m_picture->value() - 1;
    view.scale = selected<ScaleKind>(*m_scale);
    view.transform = selected<ScaleTransform>(*m_transform);
    view.sinks = selected<SinkMode>(*m_sinks);
    view.colours = m_colours->currentData().toString();
    view.smooth = m_smooth->isChecked();
    view.showSeen = m_showSeen->isChecked();
    return view;
}

void InsightControls::setView(const InsightView& view) {
    m_setting = true;
    m_given = view;
    (view.request.tower == Tower::vision ? m_vision : m_language)->setChecked(true);
    choice() = {view.request.method, view.request.layer, view.request.head};
    m_picture->setValue(view.request.picture + 1);
    select(*m_scale, view.scale);
    select(*m_transform, view.transform);
    select(*m_sinks, view.sinks);
    m_colours->setCurrentIndex(std::max(0, m_colours->findData(view.colours)));
    m_smooth->setChecked(view.smooth);
    m_showSeen->setChecked(view.showSeen);
    setShape(m_shape);
}

void InsightControls::openHead(int layer, int head) {
    choice().layer = layer;
    choice().head = head;
    if (!insight::takesHead(choice().method)) choice().method = MapMethod::attention;
    showChoice();
    announce();
}

void InsightControls::stepLayer(int by) {
    if (m_layer->isEnabled()) m_layer->stepBy(by);
}
void InsightControls::stepHead(int by) {
    if (m_head->isEnabled()) m_head->stepBy(by);
}

void InsightControls::announce() {
    if (!m_setting) Q_EMIT changed();
}

}  // namespace vitrine
