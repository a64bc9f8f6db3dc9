#pragma once

#include "core/insight/inside.h"
#include "core/insight/values.h"

// Maps over the patches of a picture. What each method means stands in values.h, how it is computed in attention_rows.h
// and passes.h. Both throw InputError where the request does not fit the model or the answer.
namespace vitrine::insight {

AttentionMap make_map(const Inside& inside, const MapRequest& request);
HeadMaps head_maps(const Inside& inside, const MapRequest& request);  // attention and value_norm only

}  // namespace vitrine::insight
