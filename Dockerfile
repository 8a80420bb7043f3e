# The image of stackflux, for its operator (flux/base) and its commands: one binary, and the programs that it runs. It does
# not run as root.
# Both base images are the official ones of Docker Hub.

# The compiler's version is that of rust-toolchain.toml, which .dockerignore excludes: with it, rustup would download the
# linters as well.
FROM rust:1.95.0-slim-trixie AS build
RUN apt-get update && apt-get install --yes --no-install-recommends libssl-dev pkg-config && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN cargo build --release --locked --package stackflux --bin stackflux

# The C library and OpenSSL of the builder's Debian release; libgit2 and libssh2 are in the binary. ssh-keygen and gpg
# sign commits; ssh-keygen requires a name for its user. git serves the built-in stack repositories; what it leaves when a
# client disconnects, tini collects.
FROM debian:trixie-slim
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates git gnupg libssl3t64 openssh-client tini \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 65532 stackflux \
    && useradd --uid 65532 --gid 65532 --home-dir /data --no-create-home --shell /usr/sbin/nologin stackflux
COPY --from=build /source/target/release/stackflux /usr/local/bin/stackflux
COPY LICENSE NOTICE /usr/share/doc/stackflux/
# The user id of `nobody` in distroless images. The image is never written to: run it with a read-only root. Commits need
# a directory for temporary files.
USER 65532:65532
WORKDIR /data
ENTRYPOINT ["/usr/bin/tini", "--", "/usr/local/bin/stackflux"]
