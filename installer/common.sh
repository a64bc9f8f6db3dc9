# shellcheck shell=bash
# What installer/run and installer/test share: each function brings one thing up to date and says nothing when it is.
# The caller sets `steps`, the number of steps that it may announce. Shell options are the caller's: set -euo pipefail.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
build=$root/build
venv=$build/venv
logs=$build/logs

say() { printf '%s\n' "$*" >&2; }

die() {
    say "installer: $1"
    shift
    local line
    for line in "$@"; do say "  $line"; done
    exit 1
}

# Announces a step that takes longer than a blink, then repeats the last line of its log: in place on a terminal, every half
# minute elsewhere. A line on descriptor 8 ends it; reading there with a time limit is also how it sleeps.
watch_log() {  # watch_log TITLE LOG
    local title=$1 log=$2 begun=$SECONDS pause=30 line
    exec 9>&-
    read -r -t 1 -u 8 && return
    say "$title ..."
    [[ -t 2 ]] && pause=1
    while ! read -r -t "$pause" -u 8 && kill -0 $$ 2>/dev/null; do
        line=$(tail -n 1 "$log" | tr -d '\r' | cut -c 1-80)
        if [[ -t 2 ]]; then
            printf '\r\033[K      %4d s  %s' $((SECONDS - begun)) "$line" >&2
        else
            say "      $((SECONDS - begun)) s  $line"
        fi
    done
    if [[ -t 2 ]]; then printf '\r\033[K' >&2; fi
}

start_watching() {
    [[ -p $logs/signal ]] || mkfifo "$logs/signal"
    exec 8<>"$logs/signal"
    watch_log "$@" &
    watcher=$!
}

stop_watching() {
    [[ -n ${watcher:-} ]] || return 0
    echo >&8
    wait "$watcher" || true
    exec 8>&-
    watcher=
}
trap stop_watching EXIT

# step NUMBER TITLE LOG COMMAND...: runs a command with its output in LOG, and returns its status. Silent where it is quick.
step() {
    local title="[$1/${steps:?}] $2" log=$3 begun=$SECONDS status=0
    shift 3
    mkdir -p "$logs"
    : >"$log"
    start_watching "$title" "$log"
    "$@" >>"$log" 2>&1 </dev/null 8>&- || status=$?
    stop_watching
    if ((status != 0)); then
        say "$title: failed after $((SECONDS - begun)) s. The end of $log:"
        tail -n 25 "$log" | sed 's/^/      | /' >&2
    elif ((SECONDS - begun > 1)); then
        say "      done in $((SECONDS - begun)) s"
    fi
    return "$status"
}

# One installer at a time in a build tree; the second waits. The lock goes when the script ends or calls unlock.
lock() {
    mkdir -p "$build"
    exec 9>"$build/.installer.lock"
    if ! flock -n 9; then
        say "Another installer is at work in $build; waiting for it ..."
        flock 9
    fi
}
unlock() { exec 9>&-; }

require_space() {  # require_space GIGABYTES WHAT
    local free
    free=$(df -Pk "$build" | awk 'NR == 2 { print int($4 / 1024 / 1024) }')
    ((free >= $1)) || die "$2 needs about $1 GB of disk, $build has $free GB left." "Free some space and start again."
}

names_in() { sed 's/#.*//' "$@" | tr -s '[:space:]' '\n' | sed '/^$/d'; }

# ---- Debian packages -------------------------------------------------------------------------------------------------

# shellcheck disable=SC2016  # ${...} is for dpkg-query
missing_packages() {
    names_in "$@" | sort -u |
        comm -23 - <(names_in "$@" | xargs dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null |
            sed -n 's/^installed //p' | sort -u)
}

as_root() {
    if ((EUID == 0)); then
        "$@"
    elif [[ -t 2 ]]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

# apt waits for another's lock on the packages by itself, but not for one on the lists.
fetch_packages() {
    local try
    for try in 1 2 3 4 5 6; do
        as_root apt-get update && break
        ((try < 6)) && sleep 10
    done
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends "$@"
}

ensure_packages() {  # ensure_packages STEP FILE...
    local number=$1
    shift
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        say "This is not a Debian system; these packages are taken to be there: $(names_in "$@" | paste -sd ' ')"
        return
    fi
    local -a missing
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]})) || return 0
    local command="apt-get install --no-install-recommends ${missing[*]}"
    if ((EUID != 0)); then
        command -v sudo >/dev/null || die "Debian packages are missing, and only root may install them. As root, run" "$command"
        if [[ -t 2 ]]; then sudo -v || true; fi  # asks for the password before the step hides the terminal
    fi
    step "$number" "Debian packages: ${missing[*]}" "$logs/packages.log" fetch_packages "${missing[@]}" ||
        die "The Debian packages could not be installed. Mend what the log names (network, disk, apt sources), or run as root" \
            "$command"
}

# ---- Python environment and LibTorch ---------------------------------------------------------------------------------

have_gpu() {
    [[ -e /proc/driver/nvidia/version ]] || command -v nvidia-smi >/dev/null ||
        { command -v ldconfig >/dev/null && ldconfig -p | grep -q 'libcuda\.so\.1'; }
}

# A LibTorch that the user names in CMAKE_PREFIX_PATH: the folder itself, or share/cmake inside it.
given_libtorch() {
    local prefix folder
    local -a prefixes
    IFS=: read -r -a prefixes <<<"${CMAKE_PREFIX_PATH:-}"
    for prefix in "${prefixes[@]}"; do
        for folder in "$prefix" "$prefix/../.."; do
            if [[ -n $prefix && -e $folder/include/ATen/ATen.h && -e $folder/lib/libtorch_cpu.so ]]; then
                (cd "$folder" && pwd -P)
                return
            fi
        done
    done
    return 1
}

# What is in the environment is told by stamps, one for each set of wheels, holding what it was made from. A stamp is written
# when its set is complete, so one that is there and equal can be trusted.
stamp_of() {
    case $1 in
        libtorch | cuda) cat "$root/installer/requirements.txt" ;;
        test) cat "$root/installer/requirements.txt" "$root/installer/requirements-test.txt" ;;
    esac | sha256sum | cut -c 1-64
}
has_wheels() {  # has_wheels NAME...: any of them
    local name
    [[ -x $venv/bin/python && ! -e $venv/.vitrine/incomplete ]] || return
    for name in "$@"; do
        [[ -f $venv/.vitrine/$name && $(<"$venv/.vitrine/$name") == "$(stamp_of "$name")" ]] && return
    done
    return 1
}

# A set-up that was cut short leaves packages that look installed but are not: then the environment is made anew.
make_environment() {
    if [[ -e $venv/.vitrine/incomplete ]] || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        rm -rf "$venv" && /usr/bin/python3 -m venv "$venv" || return
    fi
    mkdir -p "$venv/.vitrine" "$build/tmp" && rm -f "$venv"/.vitrine/* && touch "$venv/.vitrine/incomplete"
}

# The user's own pip settings (index, proxy, certificates, cache) hold; only what would lead pip out of the environment is undone.
install_wheels() {  # install_wheels NAME PIP-ARGUMENTS...
    local name=$1
    shift
    make_environment || return
    PIP_USER=0 TMPDIR=${TMPDIR:-$build/tmp} "$venv/bin/python" -m pip install --no-input --disable-pip-version-check \
        --progress-bar off "$@" || return
    rm -rf "$build/tmp"
    "$venv/bin/python" -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1])' \
        "$(echo "$venv"/lib/python3*/site-packages/torch/lib/libtorch_cpu.so)" || return
    stamp_of "$name" >"$venv/.vitrine/stamp.part" && mv "$venv/.vitrine/stamp.part" "$venv/.vitrine/$name" &&
        rm "$venv/.vitrine/incomplete"
}

wheels_failed() {
    die "Python packages could not be installed. Most often the network or a full disk is at fault; the log names it." \
        "Start again when it is mended; what pip has in its cache is not fetched twice." \
        "An own LibTorch can be given instead: CMAKE_PREFIX_PATH=/path/to/libtorch installer/run"
}

ensure_libtorch() {  # ensure_libtorch STEP
    local version file=$root/installer/requirements.txt
    version=$(sed -n 's/^torch==//p' "$file")
    if given_libtorch >/dev/null || has_wheels cuda test; then return; fi
    if have_gpu; then
        require_space 10 "LibTorch with CUDA"
        step "$1" "LibTorch $version with CUDA (about 3 GB to download)" "$logs/libtorch.log" \
            install_wheels cuda -r "$file" || wheels_failed
    elif ! has_wheels libtorch; then
        require_space 3 "LibTorch"
        step "$1" "LibTorch $version (about 0.6 GB to download)" "$logs/libtorch.log" \
            install_wheels libtorch --no-deps -r "$file" || wheels_failed
    fi
}

ensure_test_wheels() {  # ensure_test_wheels STEP
    has_wheels test && return
    require_space 10 "The Python side of the tests"
    step "$1" "PyTorch and transformers to compare with (about 3 GB to download)" "$logs/python.log" \
        install_wheels test -r "$root/installer/requirements-test.txt" || wheels_failed
}

# ---- Configure and build ---------------------------------------------------------------------------------------------

# A compiler process takes up to 2 GB on the largest files.
jobs_at_once() {
    awk -v cores="$(nproc)" '/^MemAvailable:/ { fit = int($2 / 2 / 1024 / 1024) } END {
        jobs = fit < cores ? fit : cores; print jobs < 1 ? 1 : jobs }' /proc/meminfo
}

# What a configured tree depends on beyond what CMake itself watches.
settings() { printf '%s\n' "${CMAKE_PREFIX_PATH:-}" "$root" "$(sha256sum <"$root/CMakePresets.json")"; }

ensure_built() {  # ensure_built STEP PRESET
    local configure=$1 compile=$(($1 + 1)) preset=$2 tree=$build/$2
    if [[ ! -e $tree/build.ninja || ! -e $tree/.settings || $(<"$tree/.settings") != "$(settings)" ]]; then
        step "$configure" "Configure ($preset)" "$logs/configure-$preset.log" \
            cmake -S "$root" --preset "$preset" --fresh ||
            die "CMake could not configure the build; the log names what is missing." \
                "To begin afresh, remove $tree and start again."
        settings >"$tree/.settings"
    fi
    step "$compile" "Build ($preset)" "$logs/build-$preset.log" cmake --build "$tree" -j "$(jobs_at_once)" ||
        die "The build failed; the log has the compiler's words. If memory ran out, close other programs and start again."
}
