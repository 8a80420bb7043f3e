# The image of stackflux, for its operator (flux/base) and its commands: one binary, and the programs that it runs. It does
# not run as root.
# Both base images are the official ones of Docker Hub.

# The compiler's version is that of rust-toolchain.toml, which .dockerignore excludes: with it, rustup would download the
# linters as well.
FROM --platform=linux/amd64 rust:1.95.0-slim-trixie AS build
RUN apt-get update && apt-get install --yes --no-install-recommends make musl-tools perl \
    && rm -rf /var/lib/apt/lists/* && rustup target add x86_64-unknown-linux-musl
WORKDIR /source
COPY . .
RUN crates/packages/build

# The same packages as in crates/packages/root, which `make image` uses; the libraries of the binary are in it. ssh-keygen
# and gpg sign commits; ssh-keygen requires a name for its user. git serves the built-in stack repositories; what it leaves
# when a client disconnects, tini collects.
FROM --platform=linux/amd64 debian:trixie-slim
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates git gnupg openssh-client tini \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 65532 stackflux \
    && useradd --uid 65532 --gid 65532 --home-dir /data --no-create-home --shell /usr/sbin/nologin stackflux
COPY --from=build /source/target/static/x86_64-unknown-linux-musl/static/stackflux /usr/local/bin/stackflux
COPY LICENSE NOTICE /usr/share/doc/stackflux/
# The user id of `nobody` in distroless images. The image is never written to: run it with a read-only root. Commits need
# a directory for temporary files.
USER 65532:65532
WORKDIR /data
ENTRYPOINT ["/usr/bin/tini", "--", "/usr/local/bin/stackflux"]
