#include "ui/models/pair_dialog.h"

#include "ui/models/icon_label.h"
#include "ui/theme.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QFrame>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include <algorithm>

namespace vitrine {
namespace {

constexpr int kComboLetters = 38;

void fill(QComboBox& box, const QList<Choice>& choices, const QString& preferred) {
    const QString before = box.currentData().toString();
    const QSignalBlocker quiet(box);
    box.clear();
    for (const Choice& choice : choices) box.addItem(choice.text, choice.id);
    const int wanted = preferred.isEmpty() ? -1 : box.findData(preferred);
    box.setCurrentIndex(std::max(wanted >= 0 ? wanted : box.findData(before), 0));
}

}  // namespace

PairDialog::PairDialog(QWidget* parent)
    : QDialog(parent),
      m_vision(new QComboBox(this)),
      m_language(new QComboBox(this)),
      m_projector(new QComboBox(this)),
      m_name(new QLineEdit(this)),
      m_summaryIcon(new IconLabel(this)),
      m_summary(new QLabel(this)),
      m_lines(new QVBoxLayout) {
    setWindowTitle(tr("Pair to a model"));
    auto* intro = new QLabel(tr("A model is a vision tower that sees, a language model that speaks, and a projector "
                                "that carries what the one sees to the other."),
                             this);
    intro->setWordWrap(true);
    theme::setMuted(*intro);

    auto* form = new QFormLayout;
    form->setVerticalSpacing(theme::kSpace);
    form->setHorizontalSpacing(theme::kGroup);
    form->setLabelAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    form->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
    const auto add = [&](const QString& label, QComboBox* box, const QString& name) {
        box->setAccessibleName(name);
        box->setMinimumContentsLength(kComboLetters);
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
        form->addRow(label, box);
        connect(box, &QComboBox::currentIndexChanged, this, &PairDialog::onChoice);
    };
    add(tr("&Vision"), m_vision, tr("Vision checkpoint"));
    add(tr("&Language"), m_language, tr("Language checkpoint"));
    add(tr("&Projector"), m_projector, tr("Projector file"));
    form->addRow(tr("&Name"), m_name);
    m_name->setAccessibleName(tr("Name of the new model"));
    m_name->setMaxLength(100);
    connect(m_name, &QLineEdit::textEdited, this, [this](const QString& text) {
        m_named = !text.isEmpty();
        showVerdict();
    });

    auto* box = new QFrame(this);
    box->setFrameShape(QFrame::StyledPanel);
    auto* verdict = new QVBoxLayout(box);
    verdict->setContentsMargins(theme::kGroup, theme::kSpace, theme::kGroup, theme::kSpace);
    verdict->setSpacing(theme::kTight);
    auto* summary = new QHBoxLayout;
    summary->setSpacing(theme::kSpace);
    summary->addWidget(m_summaryIcon, 0, Qt::AlignTop);
    summary->addWidget(m_summary, 1);
    m_summary->setWordWrap(true);
    m_summary->setTextFormat(Qt::PlainText);
    m_summary->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_lines->setSpacing(theme::kTight);
    verdict->addLayout(summary);
    verdict->addLayout(m_lines);

    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    m_create = buttons->addButton(tr("&Make the model"), QDialogButtonBox::AcceptRole);
    m_create->setDefault(true);
    theme::setButtonKind(*m_create, "primary");
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_create, &QPushButton::clicked, this, [this] {
        m_create->setEnabled(false);
        Q_EMIT createWanted(m_name->text().trimmed());
    });

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(theme::kPage, theme::kPage, theme::kPage, theme::kPage);
    layout->setSpacing(theme::kGroup);
    layout->addWidget(intro);
    layout->addLayout(form);
    layout->addWidget(box);
    layout->addStretch();
    layout->addWidget(buttons);
    setMinimumWidth(fontMetrics().averageCharWidth() * 90);
    showVerdict();
}

void PairDialog::setChoices(const PairChoices& choices, const QString& preferred) {
    fill(*m_vision, choices.visions, preferred);
    fill(*m_language, choices.languages, preferred);
    QList<Choice> projectors{{QString(), tr("A new, untrained projector")}};
    projectors += choices.projectors;
    fill(*m_projector, projectors, preferred);
    onChoice();
}

void PairDialog::onChoice() {
    if (!m_named) {
        const auto shortName = [](const QComboBox& box) {
            const QString text = box.currentText().section(QStringLiteral(" · "), 0, 0);
            return text.section(QLatin1Char('/'), -1);
        };
        QStringList names{shortName(*m_vision), shortName(*m_language)};
        names.removeAll(QString());
        m_name->setText(names.join(QStringLiteral(" + ")));
    }
    if (vision().isEmpty() || language().isEmpty()) {
        m_verdict = {PairVerdict::State::fault,
                     vision().isEmpty() ? tr("There is no vision checkpoint yet. Download one, for example "
                                             "google/siglip-base-patch16-224, or add its folder.")
                                        : tr("There is no language checkpoint yet. Download one, for example "
                                             "Qwen/Qwen3-0.6B, or add its folder."),
                     {}};
    } else {
        m_verdict = {PairVerdict::State::checking, tr("Looking whether the parts fit…"), {}};
        Q_EMIT choiceChanged();
    }
    showVerdict();
}

void PairDialog::setVerdict(const PairVerdict& verdict) {
    m_verdict = verdict;
    showVerdict();
}

void PairDialog::setFault(const QString& text) {
    m_verdict = {PairVerdict::State::fault, text, {}};
    showVerdict();
}

void PairDialog::showVerdict() {
    using State = PairVerdict::State;
    m_summary->setText(m_verdict.summary);
    m_summary->setAccessibleName(m_verdict.summary);
    m_summaryIcon->setIcon(m_verdict.state == State::fits       ? QStringLiteral("check")
                           : m_verdict.state == State::checking ? QStringLiteral("info")
                           : m_verdict.state == State::misfits  ? QStringLiteral("warning")
                                                                : QStringLiteral("error"));
    while (QLayoutItem* item = m_lines->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    for (const PairVerdict::Line& line : std::as_const(m_verdict.lines)) {
        // The sign stands in the text, so that it is read out too.
        auto* label = new QLabel((line.ok ? QStringLiteral("✓  ") : QStringLiteral("✗  ")) + line.text, this);
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
        label->setFont(theme::smallFont(font()));
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
        if (line.ok) theme::setMuted(*label);
        m_lines->addWidget(label);
        label->show();  // now: a hidden one takes no room
    }
    m_create->setEnabled(m_verdict.state == State::fits && !m_name->text().trimmed().isEmpty());
    grow();
}

// Room for what is said now; the window never shrinks under the pointer.
void PairDialog::grow() {
    layout()->activate();
    resize(width(), std::max(height(), layout()->totalHeightForWidth(width())));
}

void PairDialog::showEvent(QShowEvent* event) {
    QDialog::showEvent(event);
    grow();  // the style is known only now
}

QString PairDialog::vision() const {
    return m_vision->currentData().toString();
}
QString PairDialog::language() const {
    return m_language->currentData().toString();
}
QString PairDialog::projector() const {
    return m_projector->currentData().toString();
}

}  // namespace vitrine
