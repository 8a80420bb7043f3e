# The image of stackflux, for its operator (flux/base) and its commands: one binary, no shell tools needed, not root.
# Both images that it is made from are the official ones of Docker Hub.

# The compiler's version is that of rust-toolchain.toml, which .dockerignore keeps out: with it, rustup would download
# the linters as well.
FROM rust:1.95.0-slim-trixie AS build
WORKDIR /source
COPY . .
RUN cargo build --release --locked --package stackflux --bin stackflux

# The C library of the builder's Debian release; libgit2 is in the binary.
FROM debian:trixie-slim
COPY --from=build /source/target/release/stackflux /usr/local/bin/stackflux
COPY LICENSE NOTICE /usr/share/doc/stackflux/
# Nobody's number, as in distroless images. Nothing in the image is written to: run it with a read-only root.
USER 65532:65532
WORKDIR /data
ENTRYPOINT ["/usr/local/bin/stackflux"]
