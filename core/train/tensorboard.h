#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace vitrine {

// One event file of a run, for TensorBoard: curves, texts, and what the HPARAMS tab shows. It belongs to the thread
// that trains. Each call appends whole records in one write, so a killed run leaves every step before it, and a reader
// never meets half of one. Every failure of the disk is a FileError; what was there before the failed call stays
// readable. Ill-formed UTF-8 in tags and texts reads as U+FFFD.
class TensorBoardWriter {
public:
    struct Scalar {
        std::string_view tag;  // "loss/train": TensorBoard groups by what stands before the slash
        double value = 0.0;    // kept in single precision
    };
    using HyperParameter = std::variant<bool, std::int64_t, double, std::string>;

    // Creates a file in folder, which must exist, with a name behind those of the event files that are there already:
    // TensorBoard reads them in the order of their names, as one run. A resumed run names the first step that it will
    // write; whatever the older files say of this step and later ones is then hidden.
    explicit TensorBoardWriter(const std::filesystem::path& folder,
                               std::optional<std::int64_t> resumed_at_step = std::nullopt);
    TensorBoardWriter(const TensorBoardWriter&) = delete;
    TensorBoardWriter& operator=(const TensorBoardWriter&) = delete;
    ~TensorBoardWriter();

    const std::filesystem::path& path() const { return path_; }

    void scalars(std::int64_t step, std::span<const Scalar> values);
    void text(std::int64_t step, std::string_view tag, std::string_view markdown);

    // Once in the life of a run, before its first step: TensorBoard keeps the first that it reads. metrics are the tags
    // of the scalars to show beside the options.
    void start_session(const std::map<std::string, HyperParameter>& options, const std::vector<std::string>& metrics);
    // When the run is over and will not be resumed; before that TensorBoard calls its state unknown.
    void end_session(bool success);

private:
    void append(std::string_view records);

    std::filesystem::path path_;
    int descriptor_ = -1;
    std::int64_t size_ = 0;  // of the file, in whole records
};

}  // namespace vitrine
