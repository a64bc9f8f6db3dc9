#pragma once

#include "app/engine_worker.h"
#include "app/insight/insight_worker.h"
#include "core/insight/recording.h"
#include "ui/insight/values.h"

#include <QObject>
#include <QString>

#include <memory>
#include <vector>

namespace vitrine {

class Dialogs;
class HeadScores;
class InsightPanel;
class Settings;

// Joins the insight dock with the answers that are made and opened. While the dock is watched, every new answer is
// recorded and followed as it streams; otherwise nothing is recorded and nothing costs anything. Holds one recording,
// which goes when the model does. Lives on the UI thread; what is computed runs on the worker beside the engine, and
// faults become a line in the dock.
class InsightController : public QObject {
    Q_OBJECT

public:
    InsightController(InsightPanel& panel, EngineWorker& engine, Settings& settings, Dialogs& dialogs,
                      QObject* parent = nullptr);
    ~InsightController() override;

    // Whether the dock can be seen.
    void setWatching(bool watching);
    // An answer from before, the last message. `prompt` runs on the engine thread.
    void open(EngineWorker::Prompt prompt);

    const std::shared_ptr<const Recording>& recording() const { return m_recording; }
    void save();  // what the dock has been set to

private:
    void connectPanel();
    void follow(EngineJob* job);
    void begin(const std::shared_ptr<const Recording>& recording, bool live);
    void take();     // the tokens that have come
    void refresh();  // asks for all that is shown
    void askWeights();
    void askLens();
    void askSinks();
    void askHeads();
    void askPictures();
    void askCausal(const std::vector<int>& patches, CausalCheck::Means means);
    void chooseFile(InsightExport kind);
    void exportTo(const QString& file);
    void copyView();
    void showNothing();
    void readScores();  // heads.json of the model's folder, where vitrine-cli ground has written it
    void takeScores(const HeadScores& scores);

    // Asks with the recording of this moment; `compute` gives the value that `show` gets.
    template <typename Value>
    void ask(InsightWorker::Question question, std::function<Value(const Recording&, std::stop_token)> compute,
             std::function<void(const Value&)> show, int which = 0);

    InsightPanel& m_panel;
    EngineWorker& m_engine;
    Settings& m_settings;
    Dialogs& m_dialogs;
    bool m_watching = false;
    bool m_live = false;
    std::shared_ptr<const Recording> m_recording;
    std::int64_t m_known = 0;  // positions the dock has
    InsightView m_view;
    std::vector<int> m_region;
    std::shared_ptr<EngineJob> m_opening;
    quint64 m_current = 0;   // counts answers, so that an older one's end changes nothing
    InsightWorker m_worker;  // last: stopped before the rest goes
};

}  // namespace vitrine
