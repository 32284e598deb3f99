# The container image of inboxd: the program, the shipped handlers and their libraries. No shell, compiler, package manager
# or root.
#
#   docker build -t inboxd .                       the image
#   docker build -t inboxd:dev --target dev .      compilers, headers and `inboxd plugin check`, to build handlers in
#
# config/container/README.md shows how to add your own handler, and how to renew the base image's digest.

ARG BASE=debian:trixie-slim@sha256:3a39a0592364683e6bab97937b72cad5a8fa6dcbbee90edb3bb48c7f8e94f258

# Build dependencies, in layers that change rarely.
FROM ${BASE} AS dependencies
WORKDIR /source
COPY config/setup/common config/setup/install config/setup/
RUN config/setup/install --build-packages \
    && apt-get install --yes --no-install-recommends tzdata \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /root/.cache/inboxd/log
COPY config/setup/dependencies config/setup/
RUN apt-get update \
    && config/setup/dependencies --without-tests \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /root/.cache/inboxd/log

FROM dependencies AS build
COPY . .
RUN --mount=type=cache,target=/root/.cache/ccache \
    cmake --preset release -DINBOXD_TESTS=OFF \
    && cmake --build --preset release \
    && DESTDIR=/installed cmake --install build/release --prefix /usr --strip

FROM build AS files
RUN config/container/collect /installed /files

FROM dependencies AS dev
COPY --from=build /installed/ /
WORKDIR /handler
CMD ["bash"]

FROM scratch AS inboxd
COPY --from=files /files/ /
USER 65532:65532
EXPOSE 9470
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=1m --retries=3 CMD ["/usr/bin/inboxd", "health"]
ENTRYPOINT ["/usr/bin/inboxd"]
CMD ["run"]
