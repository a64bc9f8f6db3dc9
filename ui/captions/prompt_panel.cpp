#include "ui/captions/prompt_panel.h"

#include "ui/icons.h"
#include "ui/theme.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpressionValidator>
#include <QScrollArea>
#include <QSpinBox>
#include <QStyle>
#include <QTextCursor>
#include <QToolButton>
#include <QVBoxLayout>

#include <limits>
#include <utility>

namespace vitrine {
namespace {

void chooseData(QComboBox& combo, int data) {
    combo.setCurrentIndex(qMax(0, combo.findData(data)));
}

QDoubleSpinBox* decimal(double lowest, double highest, double step, QWidget* parent) {
    auto* box = new QDoubleSpinBox(parent);
    box->setRange(lowest, highest);
    box->setSingleStep(step);
    box->setDecimals(2);
    return box;
}

QSpinBox* whole(int lowest, int highest, QWidget* parent) {
    auto* box = new QSpinBox(parent);
    box->setRange(lowest, highest);
    return box;
}

// A labelled row with the same explanation on both parts.
void addRow(QFormLayout& form, const QString& name, QWidget* field, const QString& help) {
    auto* label = new QLabel(name);
    label->setBuddy(field);
    label->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Expanding);  // as tall as the field: on one line with it
    for (QWidget* widget : {static_cast<QWidget*>(label), field}) widget->setToolTip(help);
    field->setAccessibleName(name);
    form.addRow(label, field);
}

}  // namespace

PromptPanel::PromptPanel(QWidget* parent) : QWidget(parent) {
    // What is set scrolls where it must; the buttons below always stay in view.
    auto* content = new QWidget(this);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme::kSpace);
    auto* form = new QFormLayout;
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->setRowWrapPolicy(QFormLayout::WrapLongRows);
    buildPrompt(*form);

    m_policy = new QComboBox(this);
    m_policy->addItem(tr("Only those without a caption"), int(CaptionPolicy::onlyMissing));
    m_policy->addItem(tr("Only machine-made ones, anew"), int(CaptionPolicy::replaceMachine));
    m_policy->addItem(tr("All but those edited by hand"), int(CaptionPolicy::allButEdited));
    m_sidecar = new QComboBox(this);
    m_sidecar->addItem(tr("Nothing beside the pictures"), int(SidecarKind::none));
    m_sidecar->addItem(tr("A .txt file beside each picture"), int(SidecarKind::txt));
    m_sidecar->addItem(tr("A .caption file beside each picture"), int(SidecarKind::caption));
    for (QComboBox* combo : {m_policy, m_sidecar}) {
        combo->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        combo->setMinimumContentsLength(12);
        connect(combo, &QComboBox::activated, this, &PromptPanel::change);
    }
    layout->addLayout(form);
    layout->addWidget(buildGeneration());
    auto* lower = new QFormLayout;
    lower->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    addRow(*lower, tr("Which"), m_policy,
           tr("Of a selection or of all. A caption written by hand is never replaced that way."));
    addRow(*lower, tr("Write"), m_sidecar,
           tr("Captions are always kept in Vitrine's library; this writes them as files too."));
    layout->addLayout(lower);
    layout->addStretch(1);
    auto* scroll = new QScrollArea(this);
    scroll->setWidget(content);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setFocusPolicy(Qt::NoFocus);
    auto* all = new QVBoxLayout(this);
    all->setContentsMargins(0, 0, 0, 0);
    all->setSpacing(theme::kSpace);
    all->addWidget(scroll, 1);
    all->addWidget(buildButtons());
    setSettings({});
}

void PromptPanel::buildPrompt(QFormLayout& form) {
    m_preset = new QComboBox(this);
    m_preset->setAccessibleName(tr("Prompt preset"));
    m_restore = new QPushButton(icon(QStringLiteral("undo")), tr("Restore"), this);
    m_restore->setToolTip(tr("Back to the preset's own prompt"));
    theme::setButtonKind(*m_restore, "quiet");
    m_prompt = new QPlainTextEdit(this);
    m_prompt->setAccessibleName(tr("Prompt"));
    m_prompt->setTabChangesFocus(true);
    m_prompt->setPlaceholderText(tr("What to ask the model about each picture"));
    m_prompt->setToolTip(
        tr("Sent as it stands. {name} becomes the file name without its ending, {folder} the name of its folder, "
           "{length} the number of words below."));
    const int lines = 4;
    m_prompt->setFixedHeight(lines * m_prompt->fontMetrics().lineSpacing() + 2 * theme::kSpace + 2 * theme::kTight);
    m_length = whole(1, 500, this);
    m_length->setSuffix(tr(" words"));
    m_length->setAccessibleName(tr("Length goal"));

    auto* heading = new QLabel(tr("Prompt"), this);
    heading->setFont(theme::headingFont(font()));
    heading->setBuddy(m_preset);
    auto* top = new QHBoxLayout;
    top->setSpacing(theme::kTight);
    top->addWidget(heading);
    top->addStretch(1);
    top->addWidget(m_restore);
    top->addWidget(m_preset);
    form.addRow(top);
    form.addRow(m_prompt);
    m_lengthRow = new QWidget(this);
    auto* length = new QHBoxLayout(m_lengthRow);
    length->setContentsMargins(0, 0, 0, 0);
    length->addWidget(new QLabel(tr("Length goal"), m_lengthRow));
    length->addWidget(m_length);
    length->addStretch(1);
    form.addRow(m_lengthRow);

    connect(m_preset, &QComboBox::activated, this, &PromptPanel::choosePreset);
    connect(m_restore, &QPushButton::clicked, this, [this] { choosePreset(m_preset->currentIndex()); });
    connect(m_prompt, &QPlainTextEdit::textChanged, this, [this] {
        showPrompt();
        change();
    });
    connect(m_length, &QSpinBox::valueChanged, this, &PromptPanel::change);
}

QWidget* PromptPanel::buildGeneration() {
    auto* box = new QWidget(this);
    m_fold = new QToolButton(box);
    m_fold->setText(tr("Generation settings"));
    m_fold->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_fold->setCheckable(true);
    theme::setButtonKind(*m_fold, "quiet");
    connect(m_fold, &QToolButton::toggled, this, &PromptPanel::setUnfolded);

    m_generation = new QWidget(box);
    m_maxTokens = whole(1, 4096, m_generation);
    m_temperature = decimal(0.0, 2.0, 0.1, m_generation);
    m_temperature->setSpecialValueText(tr("0 (greedy)"));
    m_topP = decimal(0.01, 1.0, 0.05, m_generation);
    m_topK = whole(0, 1000, m_generation);
    m_topK->setSpecialValueText(tr("off"));
    m_repetition = decimal(1.0, 2.0, 0.05, m_generation);
    m_seed = new QLineEdit(m_generation);
    static const QRegularExpression digits(QStringLiteral("\\d{0,19}"));
    m_seed->setValidator(new QRegularExpressionValidator(digits, m_seed));

    auto* form = new QFormLayout(m_generation);
    form->setContentsMargins(theme::kSpace, 0, 0, 0);
    addRow(*form, tr("At most"), m_maxTokens, tr("The caption ends after this many tokens, finished or not."));
    m_maxTokens->setSuffix(tr(" tokens"));
    addRow(*form, tr("Temperature"), m_temperature,
           tr("0 always takes the most likely token; higher values are more varied and less sure."));
    addRow(*form, tr("Top-p"), m_topP,
           tr("Chooses among the most likely tokens that together have this probability. 1 is off."));
    addRow(*form, tr("Top-k"), m_topK, tr("Chooses among this many of the most likely tokens."));
    addRow(*form, tr("Repetition penalty"), m_repetition,
           tr("Makes tokens that were just used less likely. 1 is off."));
    addRow(*form, tr("Seed"), m_seed, tr("The same seed, settings and picture give the same caption."));

    connect(m_maxTokens, &QSpinBox::valueChanged, this, &PromptPanel::change);
    connect(m_topK, &QSpinBox::valueChanged, this, &PromptPanel::change);
    for (QDoubleSpinBox* spin : {m_temperature, m_topP, m_repetition}) {
        connect(spin, &QDoubleSpinBox::valueChanged, this, &PromptPanel::change);
    }
    connect(m_seed, &QLineEdit::textEdited, this, &PromptPanel::change);

    auto* layout = new QVBoxLayout(box);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme::kTight);
    layout->addWidget(m_fold, 0, Qt::AlignLeft);
    layout->addWidget(m_generation);
    setUnfolded(false);
    return box;
}

QWidget* PromptPanel::buildButtons() {
    auto* box = new QWidget(this);
    m_notice = new QLabel(box);
    m_notice->setWordWrap(true);
    theme::setMuted(*m_notice);
    m_main = new QPushButton(box);
    m_selection = new QPushButton(box);
    m_all = new QPushButton(box);
    m_resume = new QPushButton(icon(QStringLiteral("play")), {}, box);
    connect(m_main, &QPushButton::clicked, this,
            [this] { m_progress.run == CaptionRun::running ? Q_EMIT stopWanted() : Q_EMIT captionThis(); });
    connect(m_selection, &QPushButton::clicked, this, &PromptPanel::captionSelection);
    connect(m_all, &QPushButton::clicked, this, &PromptPanel::captionAll);
    connect(m_resume, &QPushButton::clicked, this, &PromptPanel::resumeWanted);

    auto* pair = new QHBoxLayout;
    pair->setSpacing(theme::kSpace);
    pair->addWidget(m_selection, 1);
    pair->addWidget(m_all, 1);
    auto* layout = new QVBoxLayout(box);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme::kSpace);
    layout->addWidget(m_notice);
    layout->addWidget(m_main);
    layout->addLayout(pair);
    layout->addWidget(m_resume);
    return box;
}

bool PromptPanel::isUnfolded() const {
    return m_fold->isChecked();
}

void PromptPanel::setUnfolded(bool unfolded) {
    m_fold->setChecked(unfolded);
    m_fold->setIcon(icon(unfolded ? QStringLiteral("chevron-down") : QStringLiteral("chevron-right")));
    m_generation->setVisible(unfolded);
}

void PromptPanel::setPresets(const QList<CaptionPreset>& presets) {
    m_presets = presets;
    const QString chosen = m_preset->count() > 0 ? m_preset->currentText() : m_settings.preset;
    m_preset->clear();
    for (const CaptionPreset& preset : presets) m_preset->addItem(preset.name);
    m_preset->setCurrentIndex(qMax(presets.isEmpty() ? -1 : 0, m_preset->findText(chosen)));
    if (m_prompt->document()->isEmpty()) {
        m_setting = true;
        m_prompt->setPlainText(presetPrompt());
        m_setting = false;
    }
    showPrompt();
}

QString PromptPanel::presetPrompt() const {
    return m_presets.value(m_preset->currentIndex()).prompt;
}

// The prompt before stays in the field's own undo history.
void PromptPanel::choosePreset(int item) {
    QTextCursor cursor(m_prompt->document());
    cursor.beginEditBlock();
    cursor.select(QTextCursor::Document);
    cursor.insertText(m_presets.value(item).prompt);
    cursor.endEditBlock();
    showPrompt();
    change();
}

void PromptPanel::setSettings(const CaptionSettings& settings) {
    m_setting = true;
    m_settings = settings;
    const int preset = m_preset->findText(settings.preset);
    if (preset >= 0) m_preset->setCurrentIndex(preset);
    m_prompt->setPlainText(settings.prompt);
    m_length->setValue(settings.length);
    const SamplingOptions& sampling = settings.generation.sampling;
    m_maxTokens->setValue(settings.generation.max_tokens);
    m_temperature->setValue(sampling.temperature);
    m_topP->setValue(sampling.top_p);
    m_topK->setValue(sampling.top_k);
    m_repetition->setValue(sampling.repetition_penalty);
    m_seed->setText(QString::number(sampling.seed));
    chooseData(*m_policy, int(settings.policy));
    chooseData(*m_sidecar, int(settings.sidecar));
    m_setting = false;
    showPrompt();
}

CaptionSettings PromptPanel::settings() const {
    CaptionSettings settings = m_settings;
    if (m_preset->currentIndex() >= 0) settings.preset = m_preset->currentText();
    settings.prompt = m_prompt->toPlainText();
    settings.length = m_length->value();
    settings.generation.max_tokens = m_maxTokens->value();
    SamplingOptions& sampling = settings.generation.sampling;
    sampling.temperature = m_temperature->value();
    sampling.top_p = m_topP->value();
    sampling.top_k = m_topK->value();
    sampling.repetition_penalty = m_repetition->value();
    sampling.seed = m_seed->text().toULongLong();
    settings.policy = CaptionPolicy(m_policy->currentData().toInt());
    settings.sidecar = SidecarKind(m_sidecar->currentData().toInt());
    return settings;
}

void PromptPanel::change() {
    if (m_setting) return;
    Q_EMIT settingsChanged(settings());
}

void PromptPanel::showPrompt() {
    const QString prompt = m_prompt->toPlainText();
    m_restore->setVisible(m_preset->currentIndex() >= 0 && prompt != presetPrompt());
    m_lengthRow->setVisible(prompt.contains(QLatin1String("{length}")));
}

void PromptPanel::setReady(bool ready, const QString& whyNot) {
    m_ready = ready;
    m_whyNot = whyNot;
    showButtons();
}

void PromptPanel::setProgress(const CaptionProgress& progress) {
    m_progress = progress;
    showButtons();
}

void PromptPanel::setPictures(bool any, int selected, int shown, bool hidesSome) {
    m_any = any;
    m_selected = selected;
    m_shown = shown;
    m_hidesSome = hidesSome;
    showButtons();
}

void PromptPanel::showButtons() {
    const bool running = m_progress.run == CaptionRun::running;
    const bool stopping = m_progress.run == CaptionRun::stopping;
    const bool stopped = m_progress.run == CaptionRun::stopped && m_progress.done < m_progress.total;
    QString text = tr("Caption this picture");
    if (running) text = tr("Stop");
    if (stopping) text = tr("Stopping…");
    m_main->setText(text);
    m_main->setIcon(running || stopping ? icon(QStringLiteral("stop")) : iconOnAccent(QStringLiteral("machine")));
    m_main->setToolTip(running || stopping ? QString() : tr("Ctrl+Return"));
    m_main->setEnabled(running || (!stopping && m_ready && m_any));
    const char* kind = running || stopping ? "danger" : "primary";
    if (m_main->property("kind").toString() != QLatin1String(kind)) {
        theme::setButtonKind(*m_main, kind);
        m_main->style()->unpolish(m_main);
        m_main->style()->polish(m_main);
    }
    m_selection->setText(tr("Selection (%L1)").arg(m_selected));
    m_selection->setEnabled(!stopping && m_ready && m_selected > 0);
    m_all->setText(m_hidesSome ? tr("All shown (%L1)").arg(m_shown) : tr("All (%L1)").arg(m_shown));
    m_all->setEnabled(!stopping && m_ready && m_shown > 0);
    m_resume->setVisible(stopped);
    m_resume->setText(tr("Resume, %L1 left").arg(m_progress.total - m_progress.done));
    m_resume->setEnabled(m_ready);

    QString notice = m_ready ? QString() : m_whyNot;
    if (running || stopping) {
        notice = tr("%L1 of %L2 done").arg(m_progress.done).arg(m_progress.total);
        if (m_progress.failed > 0) notice += tr(", %L1 failed").arg(m_progress.failed);
        if (!m_progress.remaining.isEmpty()) notice += QStringLiteral(" · ") + m_progress.remaining;
    }
    m_notice->setText(notice);
    m_notice->setVisible(!notice.isEmpty());
}

}  // namespace vitrine
