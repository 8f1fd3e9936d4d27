# Built from any Debian bookworm image. Where .deps/ is filled already (tools/deps), its sources are used and the
# build needs Debian's packages only.
ARG BASE=debian:bookworm

FROM ${BASE} AS build
ENV ARBITER_DEPS=build
COPY . /src
WORKDIR /src
RUN tools/deps \
    && cmake --preset release -DBUILD_TESTING=OFF \
    && cmake --build --preset release \
    && cmake --install build/release --prefix /opt/arbiter --component server --strip

FROM ${BASE}
RUN apt-get update -q \
    && apt-get install -y -q --no-install-recommends libuv1 libcjson1 libsodium23 libzstd1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --home-dir /var/lib/arbiter --create-home --shell /usr/sbin/nologin arbiter
COPY --from=build /opt/arbiter /usr/local
USER arbiter
# Results are written here.
WORKDIR /var/lib/arbiter
EXPOSE 40000/udp
ENTRYPOINT ["/usr/local/bin/arbiterd"]
CMD ["--config", "/usr/local/share/arbiter/config/arena.json"]
