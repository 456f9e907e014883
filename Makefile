.PHONY: check fmt bench bench-jobs mutate long soak live clients load release

GOFUMPT = go run mvdan.cc/gofumpt@v0.12.0

# What CI runs.
check:
	.ci/run

fmt:
	$(GOFUMPT) -w .

# Figures: p50 and p99 of our own time, messages a second, CPU and fsyncs a message.
bench:
	go test -run '^$$' -bench . -benchmem ./...
	go test ./store/memory -run LabelledSet -count 1 -v

# How fast jobs are claimed, found among a million, and started beside slow ones, on both databases, three times each.
bench-jobs:
	go test ./store/jobs -run '^$$' -bench Jobs -benchtime 20x -count 3 -timeout 1h
	go test ./scheduler -run '^$$' -bench StartLag -benchtime 1x -count 3 -timeout 1h

# Breaks each promise of docs/promises.md in a copy of the last commit and wants its test to fail. Some 20 minutes.
mutate:
	go run ./docs/mutate

# 100,000 turns: memory stays flat, and the last of a session is as fast as its 100th;
# how long a backup of them takes, what turns that wait cost, how much more two engines do than one, what 200 kills of
# these leave, each promise with 25 kills on each platform, and the static program of the image. First 200,000 made lines whose programs were judged, with dash and bash
# (SWITCHBOARD_TEST_SEED makes others).
long:
	SWITCHBOARD_TEST_LINES=200000 go test -run '^TestWhatRunsWasJudged$$' -count 1 -timeout 2h -v ./agent/tools/command
	SWITCHBOARD_TEST_TURNS=100000 go test -tags long -run 'TestLongSession|TestBackupOfManyTurns|TestMemoryIsFlat|TestWaitingForTheModel|TestPlatformsAwayForMinutes|TestTwoEnginesDoMore|TestTwoEnginesManyKills' -count 1 -p 1 -parallel 1 -timeout 1h -v ./store ./cmd/switchboard/tests/crash ./cmd/switchboard/tests/faults
	SWITCHBOARD_TEST_STATIC=1 go test -run '^TestContainer' -count 1 -v ./cmd/switchboard/tests/setup
	SWITCHBOARD_TEST_KILLS=25 go test -run '^TestCrash(Telegram|Discord|Slack|Approvals|HTTP)|^TestTwoEnginesTelegram' -count 1 -timeout 1h -v ./cmd/switchboard/tests/crash

# Half an hour of mixed faults, one engine on SQLite and two on PostgreSQL, all on
# this machine's loopback: nothing is lost or done twice, and nothing grows. SOAK=2m
# makes it short, SOAK_SEED runs the same again.
soak:
	go test -tags soak -run '^TestSoak' -count 1 -timeout 2h -v ./cmd/switchboard/tests/crash

# Scenarios against a real provider; without its key in the environment they are skipped.
live:
	go test -tags live -run '^TestLive' -count 1 -timeout 30m -v ./...

# The official npm client of the OpenAI API talks to the program; node and npm are needed. SWITCHBOARD_TEST_RECORD=1 keeps what
# it sends, which go test replays.
clients:
	go test -tags clients -run '^Test(OfficialClients|GeneratedClient)$$' -count 1 -v ./cmd/switchboard/tests/web

# What the HTTP API takes: saturation, then half of it for a minute beside 1,000 readers, three times as much, and a flood by
# one token, on both databases.
load:
	go test -tags load -run '^TestLoad$$' -count 1 -timeout 30m -v ./cmd/switchboard/tests/web
	go test -tags load -run '^Test(PageLoad|OpenPagesAskNothing)$$' -count 1 -timeout 30m -v ./cmd/switchboard/tests/page

# Static binaries of this version for Linux and macOS, with their sums, in dist. For Windows it is compiled as well, to
# keep that possible: commands of the bot run on Linux alone.
VERSION ?= $(shell git describe --always --dirty)
release:
	rm -rf dist && mkdir dist
	set -e; for target in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64; do \
		CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} go build -trimpath -ldflags="-s -w -X main.built=$(VERSION)" -o dist/switchboard-$${target%/*}-$${target#*/} ./cmd/switchboard; \
	done
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 go build -trimpath -o /dev/null ./cmd/switchboard
	cd dist && sha256sum switchboard-* > SHA256SUMS
