#include "ui/models/model_list.h"

#include "ui/icons.h"
#include "ui/theme.h"

#include <QApplication>
#include <QPainter>
#include <QStandardItemModel>
#include <QStyledItemDelegate>

#include <algorithm>

Q_DECLARE_METATYPE(vitrine::ModelEntry)

namespace vitrine {
namespace {

constexpr int kEntryRole = Qt::UserRole + 1;
constexpr int kGroupRole = Qt::UserRole + 2;
constexpr int kIcon = 14;

QString titleOf(ModelGroup group) {
    switch (group) {
        case ModelGroup::ready: return ModelList::tr("Ready to use");
        case ModelGroup::vision: return ModelList::tr("Vision");
        case ModelGroup::language: return ModelList::tr("Language");
        case ModelGroup::projectors: return ModelList::tr("Projectors");
        case ModelGroup::downloads: return ModelList::tr("Downloads");
        case ModelGroup::unusable: break;
    }
    return ModelList::tr("Not usable here");
}

QString secondLine(const ModelEntry& entry) {
    QStringList parts{entry.state, entry.fitText.isEmpty() ? entry.detail : entry.fitText};
    parts.removeAll(QString());
    return parts.join(QStringLiteral(" · "));
}

// Two lines a row: name and size; then state and what it needs, with an icon where that is good or bad news.
class RowDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        const QFontMetrics small(theme::smallFont(option.font));
        if (!index.data(kEntryRole).isValid())
            return {0, QFontMetrics(theme::smallFont(option.font)).height() + theme::kSpace + theme::kTight};
        const bool bar = index.data(kEntryRole).value<ModelEntry>().progress >= 0.0;
        return {0, option.fontMetrics.height() + small.height() + theme::kSpace + theme::kTight +
                       (bar ? theme::kSpace : 0)};
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        const theme::Colors& colors = theme::colors(option.palette);
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        if (index.data(kEntryRole).isValid())
            paintEntry(*painter, option, colors, index.data(kEntryRole).value<ModelEntry>());
        else
            paintGroup(*painter, option, colors, index);
        painter->restore();
    }

private:
    static void paintGroup(QPainter& painter, const QStyleOptionViewItem& option, const theme::Colors& colors,
                           const QModelIndex& index) {
        QFont font = theme::smallFont(option.font);
        font.setWeight(QFont::DemiBold);
        const bool focused = (option.state & QStyle::State_HasFocus) != 0;
        const bool open = (option.state & QStyle::State_Open) != 0;
        const QRect rect = option.rect.adjusted(theme::kTight, theme::kTight, -theme::kTight, 0);
        if (focused) {
            painter.setPen(QPen(colors.accent, 1.5));
            painter.drawRoundedRect(QRectF(rect).adjusted(1, 0, -1, -1), theme::kRadius, theme::kRadius);
        }
        const QRect arrow(rect.left() + theme::kTight, rect.center().y() - kIcon / 2, kIcon, kIcon);
        icon(open ? QStringLiteral("chevron-down") : QStringLiteral("chevron-right")).paint(&painter, arrow);
        painter.setFont(font);
        painter.setPen(colors.muted);
        const QRect text = rect.adjusted(kIcon + theme::kSpace + theme::kTight, 0, -theme::kSpace, 0);
        painter.drawText(text, Qt::AlignVCenter | Qt::AlignLeft, index.data(Qt::DisplayRole).toString());
        painter.drawText(text, Qt::AlignVCenter | Qt::AlignRight, QString::number(index.model()->rowCount(index)));
    }

    static void paintEntry(QPainter& painter, const QStyleOptionViewItem& option, const theme::Colors& colors,
                           const ModelEntry& entry) {
        const bool selected = (option.state & QStyle::State_Selected) != 0;
        const bool hovered = (option.state & QStyle::State_MouseOver) != 0;
        const bool focused = (option.state & QStyle::State_HasFocus) != 0;
        const QRectF card = QRectF(option.rect).adjusted(theme::kTight, 1, -theme::kTight, -1);
        if (selected || hovered) {
            painter.setPen(Qt::NoPen);
            painter.setBrush(colors.raised);
            painter.drawRoundedRect(card, theme::kRadius, theme::kRadius);
        }
        if (selected) {  // a bar besides, so that selection is more than a shade
            painter.setBrush(colors.accent);
            painter.drawRoundedRect(QRectF(card.left(), card.top() + 6, 3, card.height() - 12), 1.5, 1.5);
        }
        if (focused) {
            painter.setBrush(Qt::NoBrush);
            painter.setPen(QPen(colors.accent, 1.5));
            painter.drawRoundedRect(card.adjusted(0.75, 0.75, -0.75, -0.75), theme::kRadius, theme::kRadius);
        }

        QRect area =
            option.rect.adjusted(theme::kGroup + theme::kTight, theme::kTight + 2, -theme::kSpace - theme::kTight, 0);
        QFont font = option.font;
        if (entry.active) font.setWeight(QFont::DemiBold);
        const QFont small = theme::smallFont(option.font);
        const QFontMetrics metrics(font);
        const QFontMetrics smallMetrics(small);

        const int sizeWidth = entry.size.isEmpty() ? 0 : smallMetrics.horizontalAdvance(entry.size) + theme::kSpace;
        painter.setFont(font);
        painter.setPen(entry.group == ModelGroup::unusable ? colors.muted : colors.text);
        painter.drawText(QRect(area.left(), area.top(), area.width() - sizeWidth, metrics.height()), Qt::AlignLeft,
                         metrics.elidedText(entry.name, Qt::ElideMiddle, area.width() - sizeWidth));
        painter.setFont(small);
        painter.setPen(colors.muted);
        painter.drawText(QRect(area.left(), area.top(), area.width(), metrics.height()),
                         Qt::AlignRight | Qt::AlignVCenter, entry.size);

        QRect line(area.left(), area.top() + metrics.height() + 1, area.width(), smallMetrics.height());
        const QString iconName = entry.failed                 ? QStringLiteral("error")
                                 : entry.active               ? QStringLiteral("check")
                                 : entry.fit == Fit::tooLarge ? QStringLiteral("warning")
                                                              : QString();
        if (!iconName.isEmpty()) {
            const QRect place(line.left(), line.center().y() - kIcon / 2 + 1, kIcon, kIcon);
            icon(iconName).paint(&painter, place);
            line.setLeft(place.right() + theme::kTight);
        }
        painter.setPen(entry.failed                 ? colors.bad
                       : entry.fit == Fit::tooLarge ? colors.warning
                       : entry.active               ? colors.good
                                                    : colors.muted);
        painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter,
                         smallMetrics.elidedText(secondLine(entry), Qt::ElideRight, line.width()));
        if (entry.progress < 0.0) return;

        const QRectF track(area.left(), line.bottom() + theme::kTight, area.width(), 4);
        painter.setPen(Qt::NoPen);
        painter.setBrush(selected || hovered ? colors.border : colors.raised);
        painter.drawRoundedRect(track, 2, 2);
        painter.setBrush(colors.accent);
        painter.drawRoundedRect(QRectF(track.topLeft(), QSizeF(track.width() * std::min(entry.progress, 1.0), 4)), 2,
                                2);
    }
};

}  // namespace

ModelList::ModelList(QWidget* parent) : QTreeView(parent), m_model(new QStandardItemModel(this)) {
    setModel(m_model);
    setItemDelegate(new RowDelegate(this));
    setHeaderHidden(true);
    setRootIsDecorated(false);
    setIndentation(0);
    setExpandsOnDoubleClick(false);
    setUniformRowHeights(false);
    setEditTriggers(NoEditTriggers);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollMode(ScrollPerPixel);
    setMouseTracking(true);
    setAccessibleName(tr("Models and checkpoints"));
    connect(this, &QTreeView::clicked, this, [this](const QModelIndex& index) {
        if (!index.parent().isValid()) setExpanded(index, !isExpanded(index));
    });
    connect(this, &QTreeView::activated, this, [this](const QModelIndex& index) {
        const QVariant entry = index.data(kEntryRole);
        if (entry.isValid()) Q_EMIT entryActivated(entry.value<ModelEntry>().id);
    });
    const auto fold = [this](const QModelIndex& index, bool folded) {
        if (!m_rebuilding) m_folded[index.data(kGroupRole).toInt()] = folded;
    };
    connect(this, &QTreeView::expanded, this, [fold](const QModelIndex& index) { fold(index, false); });
    connect(this, &QTreeView::collapsed, this, [fold](const QModelIndex& index) { fold(index, true); });
    connect(selectionModel(), &QItemSelectionModel::currentChanged, this, [this] {
        if (const QString id = current(); !m_rebuilding && !id.isEmpty()) Q_EMIT entrySelected(id);
    });
    m_folded[static_cast<int>(ModelGroup::unusable)] = true;
}

void ModelList::setEntries(const QList<ModelEntry>& entries) {
    QList<ModelEntry> sorted = entries;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const ModelEntry& a, const ModelEntry& b) { return a.group < b.group; });
    QStringList order;
    for (const ModelEntry& entry : std::as_const(sorted))
        order.append(QString::number(static_cast<int>(entry.group)) + entry.id +
                     (entry.progress >= 0.0 ? QStringLiteral(" …") : QString()));  // a bar makes the row higher
    if (order != m_order) {
        m_order = order;
        return rebuild(sorted);
    }
    for (const ModelEntry& entry : std::as_const(sorted))
        if (QStandardItem* item = find(entry.id)) update(*item, entry);
}

void ModelList::rebuild(const QList<ModelEntry>& entries) {
    const QString before = current();
    m_rebuilding = true;
    m_model->clear();
    QStandardItem* group = nullptr;
    for (const ModelEntry& entry : entries) {
        const int number = static_cast<int>(entry.group);
        if (group == nullptr || group->data(kGroupRole).toInt() != number) {
            group = new QStandardItem(titleOf(entry.group));
            group->setData(number, kGroupRole);
            group->setFlags(Qt::ItemIsEnabled);
            m_model->appendRow(group);
        }
        auto* item = new QStandardItem;
        update(*item, entry);
        group->appendRow(item);
    }
    for (int row = 0; row < m_model->rowCount(); ++row) {
        const QModelIndex index = m_model->index(row, 0);
        setExpanded(index, !m_folded.value(index.data(kGroupRole).toInt()));
    }
    QStandardItem* kept = find(before);
    if (kept != nullptr) setCurrentIndex(kept->index());
    m_rebuilding = false;
    if (kept == nullptr && !before.isEmpty()) Q_EMIT entrySelected({});
}

void ModelList::update(QStandardItem& item, const ModelEntry& entry) {
    item.setData(QVariant::fromValue(entry), kEntryRole);
    QStringList words{entry.name, entry.size, entry.state, entry.fitText, entry.detail};
    words.removeAll(QString());
    item.setText(entry.name);
    item.setData(words.join(QStringLiteral(", ")), Qt::AccessibleTextRole);
    item.setToolTip(words.mid(1).isEmpty() ? entry.name
                                           : entry.name + QLatin1Char('\n') + words.mid(1).join(QLatin1Char('\n')));
}

QStandardItem* ModelList::find(const QString& id) const {
    if (id.isEmpty()) return nullptr;
    for (int row = 0; row < m_model->rowCount(); ++row) {
        const QStandardItem* group = m_model->item(row);
        for (int child = 0; child < group->rowCount(); ++child) {
            if (group->child(child)->data(kEntryRole).value<ModelEntry>().id == id) return group->child(child);
        }
    }
    return nullptr;
}

void ModelList::select(const QString& id) {
    QStandardItem* item = find(id);
    if (item == nullptr) return;
    setExpanded(item->parent()->index(), true);
    setCurrentIndex(item->index());
    scrollTo(item->index());
}

QString ModelList::current() const {
    const QVariant entry = currentIndex().data(kEntryRole);
    return entry.isValid() ? entry.value<ModelEntry>().id : QString();
}

}  // namespace vitrine
