#include "app/cli/common.h"
#include "core/insight/head_scores.h"
#include "core/insight/recording.h"
#include "core/insight/spoken.h"
#include "core/scenes/language.h"

#include <unistd.h>

#include <cmath>
#include <iostream>
#include <map>

namespace vitrine::cli {
namespace fs = std::filesystem;

namespace {

struct GroundArguments {
    ModelFlags model;
    std::uint64_t seed = 900003;
    int limit = 500;
    std::string part = "shape";
    int causal = 0;
    fs::path out;
};

constexpr int kCurveSteps = 8;

// Scores of one way to make a map, over the held-out scenes.
struct MethodScore {
    HeadScore score;
    void add(const Grounding& g) {
        score.pointing.add(g.pointing ? 1.0 : 0.0);
        score.energy.add(g.energy);
        score.auc.add(g.auc);
        score.wrong.add(g.wrong);
    }
};

// Goes through scenes whose words and boxes are known: the model is given the right caption, and each word that names
// an object is asked where the model looked. The best head is chosen on the first half of the scenes and judged, with
// everything else, on the second.
class Scoring {
public:
    Scoring(const GroundArguments& arguments, Session& session, std::stop_token stop)
        : arguments_(arguments), session_(session), stop_(std::move(stop)) {}

    int run() {
        const int half = arguments_.limit / 2;
        for (int index = 0; index < arguments_.limit; ++index) {
            if (stop_.stop_requested()) return kStopped;
            progress(index);
            visit(scenes::make_scene(arguments_.seed, static_cast<std::uint64_t>(index)), index < half);
            if (index + 1 == half) choose();
        }
        progress(arguments_.limit);
        report();
        if (!arguments_.out.empty()) heads_->save(arguments_.out);
        return kDone;
    }

private:
    static void progress(int done) {
        if (isatty(STDERR_FILENO) != 0) std::cerr << "\r\033[K" << done << " scenes" << std::flush;
    }

    void visit(const scenes::Scene& scene, bool calibrating) {
        const ModelSummary& summary = session_.summary();
        const int side = std::max(128, summary.image_size);
        const auto picture = std::make_shared<const Image>(scenes::draw(scene, side, side));
        const std::string prompt =
            summary.presets.empty() ? std::string(scenes::caption_prompts()[0]) : summary.presets.front().second;
        const auto recording = session_.record({{.role = Role::user, .text = prompt, .pictures = {picture}},
                                                {.role = Role::assistant, .text = scenes::caption(scene)}},
                                               {});
        if (!recording) return;
        const InsightLayout layout = recording->layout();
        if (!heads_) {
            const ScoreOrigin origin{.model = summary.name, .scenes_seed = arguments_.seed};
            heads_.emplace(layout.layers, layout.heads, origin);
            ScoreOrigin normed = origin;
            normed.method = MapMethod::value_norm;
            normed_.emplace(layout.layers, layout.heads, normed);
        }
        const auto part = arguments_.part == "shape" ? SpokenPart::shape : SpokenPart::colour;
        const Half half = calibrating ? Half::calibration : Half::held_out;
        for (const SpokenObject& object : spoken_objects(scene, recording->tokens(layout.answer_begin), part)) {
            MapRequest request{.position = object.position};
            heads_->add(half, recording->heads(request), object.box, object.others);
            request.method = MapMethod::value_norm;
            normed_->add(half, recording->heads(request), object.box, object.others);
            if (!calibrating) judge(*recording, object);
        }
        if (!calibrating && curves_done_ < arguments_.causal) curves(*recording, scene);
    }

    void choose() {
        for (const auto& scores : {heads_, normed_}) {
            const auto best = scores->best(Measure::pointing);
            (scores->origin().method == MapMethod::attention ? best_ : best_normed_) = *best;
        }
    }

    void judge(const Recording& recording, const SpokenObject& object) {
        const auto add = [&](const std::string& name, const MapRequest& request) {
            methods_[name].add(ground(recording.map(request).grid, object.box, object.others));
        };
        const std::int64_t p = object.position;
        add("attention, all heads", {.position = p});
        add("value-norm, all heads", {.method = MapMethod::value_norm, .position = p});
        add("relative, all heads", {.method = MapMethod::relative, .position = p});
        add("relative, best head",
            {.method = MapMethod::relative, .layer = best_.layer, .head = best_.head, .position = p});
        add("relevance", {.method = MapMethod::relevance, .position = p});
        add("lens, last layer", {.method = MapMethod::lens, .position = p});
    }

    // Insertion and deletion of the best head's order against a random one.
    void curves(const Recording& recording, const scenes::Scene& scene) {
        const InsightLayout layout = recording.layout();
        const auto spoken = spoken_objects(scene, recording.tokens(layout.answer_begin), SpokenPart::shape);
        if (spoken.empty()) return;
        ++curves_done_;
        const MapRequest request{.layer = best_.layer, .head = best_.head, .position = spoken.front().position};
        const PatchGrid grid = recording.map(request).grid;
        const HiddenProbability probability = [&](std::span<const int> hidden) {
            return recording.probability_without(request.position, 0, hidden, CausalCheck::Means::mean);
        };
        const std::vector<int> order = order_of_patches(grid), random = random_order(grid, scene.index);
        deletion_.add(deletion_curve(order, kCurveSteps, probability).area);
        deletion_random_.add(deletion_curve(random, kCurveSteps, probability).area);
        insertion_.add(insertion_curve(order, kCurveSteps, probability).area);
        insertion_random_.add(insertion_curve(random, kCurveSteps, probability).area);
    }

    void print(const std::string& name, const HeadScore& score) const {
        const auto number = [](const Mean& mean) { return std::isfinite(mean.value()) ? Json(mean.value()) : Json(); };
        if (arguments_.model.json) {
            print_line({{"method", name},
                        {"pointing", number(score.pointing)},
                        {"energy", number(score.energy)},
                        {"auc", number(score.auc)},
                        {"wrong_object", number(score.wrong)},
                        {"n", score.pointing.count}});
            return;
        }
        const auto text = [](const Mean& mean, double times, int decimals) {
            return mean.count > 0 ? fixed(mean.value() * times, decimals) : std::string("-");
        };
        std::string padded = name;
        padded.resize(std::max<std::size_t>(padded.size(), 32), ' ');
        std::cout << padded << text(score.pointing, 100.0, 1) << " %   energy " << text(score.energy, 1.0, 2)
                  << "   AUC " << text(score.auc, 1.0, 3) << "   wrong object " << text(score.wrong, 100.0, 1)
                  << " %   n " << score.pointing.count << '\n';
    }

    void report() {
        if (isatty(STDERR_FILENO) != 0) std::cerr << "\r\033[K";
        if (!heads_) return;
        const auto named = [](const std::string& what, const HeadScores::Best& best) {
            return what + ", layer " + std::to_string(best.layer) + " head " + std::to_string(best.head);
        };
        print(named("best head", best_), heads_->at(Half::held_out, best_.layer, best_.head));
        print(named("value-norm best", best_normed_),
              normed_->at(Half::held_out, best_normed_.layer, best_normed_.head));
        for (const auto& [name, method] : methods_) print(name, method.score);
        print("a head at random", heads_->any_head(Half::held_out));
        print("centre", heads_->centre(Half::held_out));
        HeadScore chance;
        chance.pointing = {heads_->chance(Half::held_out) * static_cast<double>(heads_->samples(Half::held_out)),
                           heads_->samples(Half::held_out)};
        chance.energy = {1.0, 1};
        chance.auc = {0.5, 1};
        print("chance", chance);
        if (deletion_.count == 0) return;
        const auto curve = [&](const char* name, const Mean& ours, const Mean& random) {
            if (arguments_.model.json)
                print_line({{"curve", name}, {"area", ours.value()}, {"random", random.value()}, {"n", ours.count}});
            else
                std::cout << name << " area " << fixed(ours.value(), 3) << ", random order " << fixed(random.value(), 3)
                          << "   n " << ours.count << '\n';
        };
        curve("deletion", deletion_, deletion_random_);
        curve("insertion", insertion_, insertion_random_);
    }

    const GroundArguments& arguments_;
    Session& session_;
    std::stop_token stop_;
    std::optional<HeadScores> heads_, normed_;
    HeadScores::Best best_, best_normed_;
    std::map<std::string, MethodScore> methods_;
    int curves_done_ = 0;
    Mean deletion_, deletion_random_, insertion_, insertion_random_;
};

}  // namespace

Command add_ground(CLI::App& parent) {
    auto arguments = std::make_shared<GroundArguments>();
    CLI::App* app = parent.add_subcommand("ground", "Score maps against the known boxes of drawn scenes");
    arguments->model.add_to(*app);
    app->add_option("--limit", arguments->limit, "Scenes; the first half chooses the best head, the second judges")
        ->check(CLI::Range(2, 1'000'000))
        ->capture_default_str();
    app->add_option("--scenes-seed", arguments->seed, "Seed of the scenes")->capture_default_str();
    app->add_option("--part", arguments->part, "Which word of \"a large red star\": shape or colour")
        ->check(CLI::IsMember({"shape", "colour"}))
        ->capture_default_str();
    app->add_option("--curves", arguments->causal, "Also insertion and deletion, on this many scenes")
        ->check(CLI::NonNegativeNumber);
    app->add_option("--out", arguments->out,
                    "Write the scores of all heads as JSON; as heads.json in the model's folder, the window sorts its "
                    "heads by them");
    return {app, [arguments](std::stop_token stop) {
                struct Quiet : EngineObserver {
                } quiet;
                Session session(arguments->model, quiet, stop);
                if (session.stopped()) return static_cast<int>(kStopped);
                return Scoring(*arguments, session, stop).run();
            }};
}

}  // namespace vitrine::cli
