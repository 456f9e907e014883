//go:build linux && !race

package programtest

const raceDetector = false
