#pragma once

#include <stdexcept>
#include <string>

namespace vitrine {

// What a person needs to mend a fault: which thing, where, what was expected, what was found, what to do. Any part may
// be empty; what() joins the parts into one sentence, e.g.
//   "model.safetensors: model.norm.weight: expected shape [1024], found [512]. The index and the shard disagree;
//   download both again."
struct ErrorParts {
    std::string name = {};   // the tensor, key, option or stage concerned
    std::string where = {};  // the file or folder, with an offset or line where known
    std::string expected = {};
    std::string found = {};
    std::string advice = {};  // a full sentence
};

// Base of everything core throws. Being stopped is not an error: it is a FinishReason.
class Error : public std::runtime_error {
public:
    explicit Error(ErrorParts parts);
    const ErrorParts& parts() const noexcept { return parts_; }

private:
    ErrorParts parts_;
};

// The input was at fault (command line: exit 1).
class InputError : public Error {
    using Error::Error;
};
// A file or folder that cannot be opened, read or written.
class FileError : public InputError {
    using InputError::InputError;
};
// safetensors files, shards, tensor names and shapes.
class WeightsError : public InputError {
    using InputError::InputError;
};
// config.json, vitrine.json, preprocessor_config.json.
class ConfigError : public InputError {
    using InputError::InputError;
};
// tokenizer.json and the chat template.
class TokenizerError : public InputError {
    using InputError::InputError;
};
// A picture that cannot be decoded or is refused.
class PictureError : public InputError {
    using InputError::InputError;
};
// An option outside its range.
class OptionError : public InputError {
    using InputError::InputError;
};
// A run that cannot go on: a loss or gradient that is not finite, a process that is gone.
class TrainingError : public InputError {
    using InputError::InputError;
};

// The machine is at fault (command line: exit 3): it would not fit; found and expected carry the numbers.
class MemoryError : public Error {
    using Error::Error;
};
// The machine is at fault (command line: exit 3): no such device.
class DeviceError : public Error {
    using Error::Error;
};

}  // namespace vitrine
