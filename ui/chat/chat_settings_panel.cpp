#include "ui/chat/chat_settings_panel.h"

#include "ui/theme.h"

#include <QCheckBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QRegularExpressionValidator>
#include <QSpinBox>

namespace vitrine {

ChatSettingsPanel::ChatSettingsPanel(QWidget* parent) : QWidget(parent) {
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, theme::kSpace);
    grid->setHorizontalSpacing(theme::kGroup);
    grid->setVerticalSpacing(theme::kTight);

    const auto label = [this](const QString& text, QWidget* buddy) {
        auto* words = new QLabel(text, this);
        words->setFont(theme::smallFont(font()));
        theme::setMuted(*words);
        words->setBuddy(buddy);
        buddy->setAccessibleName(QString(text).remove(u'&'));
        return words;
    };
    m_system = new QPlainTextEdit(this);
    m_system->setTabChangesFocus(true);
    m_system->setPlaceholderText(tr("What the model is told before the conversation. May be empty."));
    m_system->setFixedHeight(fontMetrics().lineSpacing() * 3 + 2 * theme::kSpace);
    grid->addWidget(label(tr("S&ystem prompt of this conversation"), m_system), 0, 0, 1, 5);
    grid->addWidget(m_system, 1, 0, 1, 5);
    connect(m_system, &QPlainTextEdit::textChanged, this, &ChatSettingsPanel::announce);

    int cell = 0;
    const auto place = [&](const QString& name, QWidget* control, const QString& help) {
        const int row = 2 + cell / 5 * 2;
        const int column = cell++ % 5;
        control->setToolTip(help);
        control->setAccessibleDescription(help);
        grid->addWidget(label(name, control), row, column);
        grid->addWidget(control, row + 1, column);
    };
    const auto decimal = [&](const QString& name, double low, double high, double step, const QString& help) {
        auto* box = new QDoubleSpinBox(this);
        box->setRange(low, high);
        box->setSingleStep(step);
        box->setDecimals(2);
        box->setKeyboardTracking(false);
        connect(box, &QDoubleSpinBox::valueChanged, this, &ChatSettingsPanel::announce);
        place(name, box, help);
        return box;
    };
    const auto whole = [&](const QString& name, int low, int high, const QString& help) {
        auto* box = new QSpinBox(this);
        box->setRange(low, high);
        box->setKeyboardTracking(false);
        connect(box, &QSpinBox::valueChanged, this, &ChatSettingsPanel::announce);
        place(name, box, help);
        return box;
    };
    m_temperature =
        decimal(tr("&Temperature"), 0.0, 5.0, 0.1, tr("0 always takes the most likely word; higher is freer."));
    m_topP = decimal(tr("Top &P"), 0.01, 1.0, 0.05,
                     tr("Only the likeliest words that together have this probability. 1 is off."));
    m_topK = whole(tr("Top &K"), 0, 1000, tr("Only this many of the likeliest words. 0 is off."));
    m_topK->setSpecialValueText(tr("off"));
    m_minP = decimal(tr("&Min P"), 0.0, 0.99, 0.01,
                     tr("Leaves out words less likely than this part of the likeliest. 0 is off."));
    m_maxTokens = whole(tr("Longest &answer"), 1, 32'768, tr("In tokens: a word is one to three of them."));
    m_repetition =
        decimal(tr("&Repetition penalty"), 0.5, 3.0, 0.05, tr("Makes words that were written less likely. 1 is off."));
    m_presence = decimal(tr("Pres&ence penalty"), -5.0, 5.0, 0.1,
                         tr("Taken once from the score of a word that was written. 0 is off."));
    m_window =
        whole(tr("Penalty &window"), 0, 8192, tr("How many of the latest tokens the penalties look at. 0 is off."));
    m_window->setSpecialValueText(tr("off"));
    m_seed = new QLineEdit(this);
    m_seed->setPlaceholderText(tr("a new one each time"));
    m_seed->setValidator(new QRegularExpressionValidator(QRegularExpression(QStringLiteral("\\d{0,18}")), m_seed));
    connect(m_seed, &QLineEdit::textChanged, this, &ChatSettingsPanel::announce);
    place(tr("Seed"), m_seed, tr("The same seed and settings give the same answer. Empty: a new one for each answer."));

    auto* checks = new QWidget(this);
    auto* column = new QVBoxLayout(checks);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(theme::kTight);
    m_thinking = new QCheckBox(tr("T&hink first"), checks);
    m_thinking->setToolTip(tr("The model writes its thoughts before the answer; they are shown folded."));
    m_loops = new QCheckBox(tr("Stop &loops"), checks);
    m_loops->setToolTip(tr("Ends an answer that repeats itself exactly."));
    column->addWidget(m_thinking);
    column->addWidget(m_loops);
    grid->addWidget(checks, 4, 4, 2, 1, Qt::AlignBottom);
    for (QCheckBox* box : {m_thinking, m_loops}) connect(box, &QCheckBox::toggled, this, &ChatSettingsPanel::announce);
    for (int i = 0; i < 5; ++i) grid->setColumnStretch(i, 1);
    setSettings({});
}

void ChatSettingsPanel::setSettings(const ChatSettings& settings) {
    m_setting = true;
    m_settings = settings;
    const SamplingOptions& sampling = settings.generation.sampling;
    if (m_system->toPlainText() != settings.systemPrompt) m_system->setPlainText(settings.systemPrompt);
    m_temperature->setValue(sampling.temperature);
    m_topP->setValue(sampling.top_p);
    m_topK->setValue(sampling.top_k);
    m_minP->setValue(sampling.min_p);
    m_repetition->setValue(sampling.repetition_penalty);
    m_presence->setValue(sampling.presence_penalty);
    m_window->setValue(sampling.penalty_window);
    m_maxTokens->setValue(settings.generation.max_tokens);
    m_seed->setText(settings.fixedSeed ? QString::number(sampling.seed) : QString());
    m_thinking->setChecked(settings.generation.thinking);
    m_loops->setChecked(settings.generation.detect_loops);
    m_setting = false;
}

ChatSettings ChatSettingsPanel::settings() const {
    ChatSettings settings = m_settings;
    settings.systemPrompt = m_system->toPlainText();
    SamplingOptions& sampling = settings.generation.sampling;
    sampling.temperature = m_temperature->value();
    sampling.top_p = m_topP->value();
    sampling.top_k = m_topK->value();
    sampling.min_p = m_minP->value();
    sampling.repetition_penalty = m_repetition->value();
    sampling.presence_penalty = m_presence->value();
    sampling.penalty_window = m_window->value();
    settings.generation.max_tokens = m_maxTokens->value();
    settings.fixedSeed = !m_seed->text().isEmpty();
    if (settings.fixedSeed) sampling.seed = m_seed->text().toULongLong();
    settings.generation.thinking = m_thinking->isChecked();
    settings.generation.detect_loops = m_loops->isChecked();
    return settings;
}

void ChatSettingsPanel::announce() {
    if (m_setting) return;
    m_settings = settings();
    Q_EMIT changed(m_settings);
}

}  // namespace vitrine
