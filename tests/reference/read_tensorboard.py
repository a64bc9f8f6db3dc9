#!/usr/bin/env python3
"""Prints as JSON what TensorBoard finds in the event files of a folder of runs; fails on a record with a wrong checksum.

    read_tensorboard.py FOLDER

files: each event file with its events as [step, what]; runs: for each run its scalars as {tag: [[step, value]]}
and texts; hparams: what the HPARAMS tab gets.
"""

import json
import logging
import pathlib
import sys
import warnings

warnings.filterwarnings("ignore")  # of packages that TensorBoard imports

from google.protobuf import json_format  # noqa: E402
from tensorboard import context  # noqa: E402
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer  # noqa: E402
from tensorboard.compat.proto import event_pb2  # noqa: E402
from tensorboard.compat.tensorflow_stub import errors, pywrap_tensorflow  # noqa: E402
from tensorboard.plugins import base_plugin  # noqa: E402
from tensorboard.plugins.hparams import api_pb2, backend_context, get_experiment, list_session_groups  # noqa: E402
from tensorboard.plugins.text import text_plugin  # noqa: E402
from tensorboard.util import tensor_util  # noqa: E402


def events(path):
    """The events of one file as they stand in it. The loader above this reader would take a wrong checksum for the end of the file."""
    reader = pywrap_tensorflow.PyRecordReader_New(str(path))
    found = []
    while True:
        try:
            reader.GetNext()
        except errors.OutOfRangeError:
            return found
        event = event_pb2.Event.FromString(reader.record())
        found.append([event.step, event.file_version or event.WhichOneof("what")])


def hparams(provider):
    request = context.RequestContext()
    backend = backend_context.Context(base_plugin.TBContext(data_provider=provider))
    experiment = get_experiment.Handler(request, backend, "", api_pb2.GetExperimentRequest()).run()
    every_status = [api_pb2.STATUS_UNKNOWN, api_pb2.STATUS_SUCCESS, api_pb2.STATUS_FAILURE, api_pb2.STATUS_RUNNING]
    groups = list_session_groups.Handler(
        request, backend, "", api_pb2.ListSessionGroupsRequest(allowed_statuses=every_status, slice_size=100)
    ).run()
    return {name: json_format.MessageToDict(message) for name, message in (("experiment", experiment), ("groups", groups))}


def main():
    folder = pathlib.Path(sys.argv[1])
    logging.getLogger("tensorboard").setLevel(logging.ERROR)  # it warns of each purge
    files = {path.name: events(path) for path in sorted(folder.rglob("*tfevents*"))}

    multiplexer = plugin_event_multiplexer.EventMultiplexer(tensor_size_guidance={"scalars": 0, "text": 0})
    multiplexer.AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    runs = {}
    for run in multiplexer.Runs():
        plugins = {plugin: multiplexer.PluginRunToTagToContent(plugin).get(run, {}) for plugin in ("scalars", "text")}
        values = {
            plugin: {tag: [[e.step, tensor_util.make_ndarray(e.tensor_proto)] for e in multiplexer.Tensors(run, tag)] for tag in tags}
            for plugin, tags in plugins.items()
        }
        runs[run] = {
            "scalars": {tag: [[step, float(value)] for step, value in points] for tag, points in values["scalars"].items()},
            "texts": {tag: [[step, [text.decode() for text in value]] for step, value in points] for tag, points in values["text"].items()},
            "shown": {tag: text_plugin.text_array_to_html(points[-1][1], True) for tag, points in values["text"].items()},
        }
    print(json.dumps({"files": files, "runs": runs, "hparams": hparams(data_provider.MultiplexerDataProvider(multiplexer, str(folder)))}))


if __name__ == "__main__":
    sys.exit(main())
